#include "fusefs/commands/verify_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "core/store/executor.h"
#include "fusefs/commands/interruption.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargeFile = 4u << 20;
constexpr std::uint64_t kMemory = 64u << 20;  // bytes of decoded chunks, of all files
constexpr std::size_t kMostAhead = 4096;      // files that wait for a thread, or for an earlier file

std::chrono::nanoseconds now() { return std::chrono::system_clock::now().time_since_epoch(); }

std::int64_t now_seconds() { return std::chrono::duration_cast<std::chrono::seconds>(now()).count(); }

// Returns whether a change from now on changes the time stamp.
bool is_settled(const FileStamp& file) {
  const auto changed = std::chrono::seconds(file.mtime_seconds) + std::chrono::nanoseconds(file.mtime_nanoseconds);
  const std::chrono::milliseconds least(file.mtime_nanoseconds == 0 ? 2000 : 15);
  return changed + least < now();
}

FileStamp state_of(const FileSource::Status& status, std::uint64_t size) {
  return {.device = status.device,
          .inode = status.inode,
          .size = size,
          .mtime_seconds = status.mtime_seconds,
          .mtime_nanoseconds = status.mtime_nanoseconds};
}

// For a container so damaged at its head that it cannot be opened.
Verdict verdict_of(const Error& error) {
  Verdict verdict;
  verdict.findings.push_back({.begin = error.position,
                              .word = error.code == Code::kUnfinished ? "unfinished" : "damage",
                              .reason = error.detail,
                              .status = CommandContext::status_of(error)});
  return verdict;
}

bool is_damage(const Error& error) { return error.code == Code::kDamage || error.code == Code::kUnfinished; }

}  // namespace

VerifyRun::VerifyRun(const std::vector<VerifyItem>& items, const VerifySettings& settings, Services& services,
                     Progress& progress, std::function<void(const Outcome&)> tell)
    : items_(items), settings_(settings), services_(services), progress_(progress), tell_(std::move(tell)) {}

void VerifyRun::run() {
  const auto at_once = static_cast<unsigned>(std::min<std::size_t>(settings_.at_once, items_.size()));
  Executor executor(at_once > 1 ? at_once : 0);
  std::size_t next = 0;
  executor.run_in_order({.tasks = kMostAhead}, [&]() -> std::optional<Executor::OrderedTask> {
    if (next == items_.size() || Interruption::came()) return std::nullopt;
    const VerifyItem& item = items_[next++];
    const auto outcome = std::make_shared<Outcome>(Outcome{.path = item.file.path});
    const auto finish = [this, outcome](bool has_run) {
      if (!has_run) outcome->failure = shortage("out of memory");
      tell_(*outcome);
      return true;
    };
    return Executor::OrderedTask{.run = [this, outcome, &item] { *outcome = verify_item(item); }, .finish = finish};
  });
}

std::optional<Passed> VerifyRun::passed_earlier(const ListedFile& file) const {
  if (settings_.state == nullptr) return std::nullopt;
  const auto state = recordfs::state_of(file.path);
  if (!state) return std::nullopt;
  const auto passed = settings_.state->find(file.path, *state);
  if (!passed || (!passed->is_container && !file.was_found)) return std::nullopt;
  const std::int64_t age = now_seconds() - passed->when;
  // A time in the future means that the clock was set.
  const bool is_recent = age >= 0 && (!settings_.max_age || age < *settings_.max_age);
  return is_recent ? passed : std::nullopt;
}

Outcome VerifyRun::verify_item(const VerifyItem& item) {
  Outcome outcome{.path = item.file.path, .failure = item.failure};
  outcome.is_passed_by = Interruption::came();
  if (item.failure || outcome.is_passed_by) return outcome;
  if (const auto passed = passed_earlier(item.file)) {
    outcome.size = passed->file.size;
    outcome.passed = passed->when;
    outcome.is_passed_by = !passed->is_container;
    progress_.add(passed->file.size);
    return outcome;
  }
  auto opened = open_file(item.file.path, settings_.limits, services_);
  if (opened) {
    return verify_open(item, *opened->store, state_of(opened->status, opened->store->source().size()));
  }
  const Error& error = opened.error();
  const auto state = recordfs::state_of(item.file.path);
  if (state) progress_.add(state->size);
  if (is_damage(error)) {
    outcome.verdict = verdict_of(error);
  } else if (error.code == Code::kNoContainer && item.file.was_found) {
    outcome.is_passed_by = true;
  } else {
    outcome.failure = error;
  }
  if (state) remember(outcome, *state, false);
  return outcome;
}

Outcome VerifyRun::verify_open(const VerifyItem& item, const RecordStore& store, const FileStamp& opened) {
  Outcome outcome{.path = item.file.path, .format = store.traits().format, .size = opened.size};
  const bool is_settled_now = is_settled(opened);
  Verdict verdict = verify_store(store);
  if (verdict.was_stopped) {
    outcome.is_passed_by = true;
    return outcome;
  }
  outcome.verdict = std::move(verdict);
  if (is_settled_now || outcome.status() != 0) remember(outcome, opened, true);
  return outcome;
}

Verdict VerifyRun::verify_store(const RecordStore& store) {
  const auto goes_on = [this](std::uint64_t bytes) {
    progress_.add(bytes);
    return !Interruption::came();
  };
  if (store.source().size() < kLargeFile || settings_.at_once == 1) {
    return verify(store, 0, kMemory / (settings_.at_once + 1), goes_on);
  }
  const std::lock_guard lock(large_);
  return verify(store, settings_.at_once, kMemory, goes_on);
}

// Remembers a file that passed and did not change meanwhile. Forgets others.
void VerifyRun::remember(const Outcome& outcome, const FileStamp& opened, bool is_container) const {
  if (settings_.state == nullptr) return;
  const bool has_passed = outcome.status() == 0 && (is_container || outcome.is_passed_by);
  if (has_passed && is_settled(opened) && recordfs::state_of(outcome.path) == opened) {
    settings_.state->set(outcome.path, {.file = opened, .when = now_seconds(), .is_container = is_container});
  } else {
    settings_.state->remove(outcome.path);
  }
}

}  // namespace recordfs
