#include "core/verify/file_verifier.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "core/base/source.h"
#include "core/base/storage.h"
#include "core/store/executor.h"
#include "core/store/open_container.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargeFile = 4u << 20;
constexpr std::uint64_t kMemory = 64u << 20;  // bytes of decoded chunks, of all files
constexpr std::size_t kWaitingFiles = 4096;   // files that wait for a thread, or for an earlier file

std::int64_t now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

void FileVerifier::verify_all(const std::vector<ListedFile>& files,
                              const std::function<void(std::size_t number, Outcome& outcome)>& take) {
  const auto at_once = static_cast<unsigned>(std::min<std::size_t>(options_.threads, files.size()));
  Executor executor(std::max(at_once, 1u) - 1);
  std::size_t next = 0;
  executor.run_in_order({.tasks = kWaitingFiles}, [&]() -> std::optional<Executor::OrderedTask> {
    if (next == files.size() || !caller_.goes_on()) return std::nullopt;
    const std::size_t number = next++;
    const auto outcome = std::make_shared<Outcome>(Outcome{.path = files[number].path});
    const auto finish = [&take, outcome, number](bool has_run) {
      if (!has_run) outcome->failure = out_of_memory("out of memory");
      take(number, *outcome);
      return true;
    };
    return Executor::OrderedTask{.run = [this, outcome, &file = files[number]] { *outcome = verify_file(file); },
                                 .finish = finish};
  });
}

std::optional<Passed> FileVerifier::passed_earlier(const ListedFile& file) const {
  if (state_ == nullptr) return std::nullopt;
  const auto status = status_of({}, file.path);
  if (!status) return std::nullopt;
  const auto passed = state_->find(file.path, status->id);
  if (!passed || (!passed->is_container && !file.was_found)) return std::nullopt;
  const std::int64_t age = now_seconds() - passed->when;
  // A time in the future means that the clock was set.
  const bool is_recent = age >= 0 && (!options_.max_age || age < *options_.max_age);
  return is_recent ? passed : std::nullopt;
}

Outcome FileVerifier::verify_file(const ListedFile& file) {
  Outcome outcome{.path = file.path, .failure = file.failure};
  outcome.is_ignored = !caller_.goes_on();
  if (file.failure || outcome.is_ignored) return outcome;
  if (const auto passed = passed_earlier(file)) {
    outcome.size = passed->size;
    outcome.passed = passed->when;
    outcome.is_ignored = !passed->is_container;
    caller_.has_read(passed->size);
    return outcome;
  }
  auto opened = caller_.open({}, file.path);
  if (opened) return verify_open(file, *opened->store);
  const Error& error = opened.error();
  const auto status = status_of({}, file.path);
  if (status) caller_.has_read(status->size);
  if (impact_of(error) == Impact::kDamage) {
    // So damaged at its head that it cannot be opened.
    outcome.verdict.emplace().findings.push_back(finding_of(error));
  } else if (databases_.is_live_table(file.path) && error.code == Code::kNoContainer) {
    outcome.verdict.emplace();  // the check of the database says what is wrong
  } else if (file.was_found &&
             (error.os_error == ENOENT || (error.code == Code::kNoContainer && !should_be_container(file.path)))) {
    outcome.is_ignored = true;  // a database in use removes files meanwhile
    outcome.is_removed = error.os_error == ENOENT;
  } else {
    outcome.failure = error;
  }
  if (status) remember(outcome, status->id, false);
  return outcome;
}

// Adds what the database of a file says of it, and that there are no checksums at all.
void FileVerifier::check_as_file_of_database(const std::string& path, const RecordStore& store,
                                             Verdict& verdict) const {
  databases_.check_file(path, store.source(), caller_.goes_on, verdict);
  if (auto found = finding_without_checksums(verdict)) verdict.findings.push_back(std::move(*found));
  verdict.was_stopped = verdict.was_stopped || !caller_.goes_on();
}

Outcome FileVerifier::verify_open(const ListedFile& file, const RecordStore& store) {
  Outcome outcome{.path = file.path, .format = store.traits().format, .size = store.source().size()};
  const SourceId opened = store.source().id().value_or(SourceId{});
  Verdict verdict = verify_store(store);
  if (!verdict.was_stopped) check_as_file_of_database(file.path, store, verdict);
  if (verdict.was_stopped) {
    outcome.is_ignored = true;
    return outcome;
  }
  outcome.verdict = std::move(verdict);
  if (opened.is_settled || outcome.impact() != Impact::kNone) remember(outcome, opened, true);
  return outcome;
}

Verdict FileVerifier::verify_store(const RecordStore& store) {
  const auto goes_on = [this](std::uint64_t bytes) {
    caller_.has_read(bytes);
    return caller_.goes_on();
  };
  if (store.source().size() < kLargeFile || options_.threads == 1) {
    return verify(store, 1, kMemory / (options_.threads + 1), goes_on);
  }
  const std::lock_guard lock(large_);
  return verify(store, options_.threads, kMemory, goes_on);
}

// Remembers a file that passed and did not change meanwhile. Forgets others.
void FileVerifier::remember(const Outcome& outcome, const SourceId& opened, bool is_container) const {
  if (state_ == nullptr) return;
  const bool has_passed = outcome.impact() == Impact::kNone && (is_container || outcome.is_ignored);
  const auto now = status_of({}, outcome.path);
  if (has_passed && now && now->id.is_settled && now->id == opened) {
    state_->set(outcome.path, {.file = opened, .size = now->size, .when = now_seconds(), .is_container = is_container});
  } else {
    state_->remove(outcome.path);
  }
}

}  // namespace recordfs
