#include "core/database/log_loader.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/database/blob_keys.h"
#include "core/database/change_watch.h"
#include "core/database/lost_edits.h"
#include "core/database/options_file.h"

namespace recordfs::database {

constexpr std::int64_t kSecondsOfUse = 10;  // since the last write of a database that may be in use

Result<void> LogLoader::list_other_directory() {
  if (!only_.empty()) return {};
  other_ = {.name = state_.options_.wal_directory, .problem = {}};
  while (other_.name.size() > 1 && other_.name.ends_with('/')) other_.name.pop_back();
  if (other_.name.empty()) other_ = find_wal_directory(files().directory(), state_.options_file_.wal_directory);
  return other_.name.empty() ? Result<void>() : add_files_of(files(), other_.name, {FileKind::kLog}, other_logs_);
}

void LogLoader::choose_directory() {
  const bool has_own =
      std::ranges::any_of(state_.listing_, [this](const DirectoryEntry& entry) { return is_live(entry); });
  if (has_own && state_.options_.wal_directory.empty()) return;
  directory_ = other_.name;
  std::ranges::move(other_logs_, std::back_inserter(state_.listing_));
  if (!other_.problem) return;
  const bool is_lost = other_.problem->code == Code::kNotFound;
  report("", *std::move(other_.problem));
  if (is_lost) lose_logs();
}

bool LogLoader::is_live(const DirectoryEntry& entry) const {
  if (entry.is.kind != FileKind::kLog) return false;
  if (!directory_.empty() && !entry.name.starts_with(directory_ + "/")) return false;
  const FileSet& set = state_.files_;
  return state_.is_recovered_ || entry.is.number >= set.first_log() ||
         (set.previous_log != 0 && entry.is.number == set.previous_log);
}

Result<void> LogLoader::read() {
  const Logs logs = live_logs();
  report_missing(logs);
  std::vector<NumberedLog> numbered;
  ChangeWatch watch;
  for (const DirectoryEntry* log : logs) {
    TRY(files().pin(log->name));
    ASSIGN_OR_RETURN(auto file, files().open(log->name));
    watch.add(std::move(file));
    numbered.push_back({log->name, log->is.number});
    state_.live_logs_.insert(log->name);
  }
  LogReplay::Setup rules = setup();
  const bool refuses_torn_ends = rules.refuses_torn_ends;
  ASSIGN_OR_RETURN(const auto replay, replay_logs(context_, files(), numbered, state_.options_, std::move(rules)));
  const bool has_loss = std::ranges::any_of(replay->problems(), &Problem::loses_data);
  // A database in use may pause inside a write.
  const bool may_continue = refuses_torn_ends && watch.is_recent(kSecondsOfUse);
  may_have_raced_ = has_loss && (may_continue || watch.has_changed(context_));
  if (are_blob_files(only_)) TRY(read_blob_files(replay->writes()));
  take_writes(*replay);
  take_losses(*replay, logs);
  state_.last_sequence_ = std::max(state_.files_.last_sequence, replay->last_sequence());
  return {};
}

void LogLoader::report(std::string file, Error error, bool loses_data) const {
  state_.report({.file = std::move(file), .error = std::move(error), .loses_data = loses_data});
}

void LogLoader::lose_logs() {
  state_.losses_.push_back({.age = Age{.level = -1}});
  is_any_missing_ = true;
}

// In the order of their numbers.
LogLoader::Logs LogLoader::live_logs() const {
  Logs logs;
  for (const DirectoryEntry& entry : state_.listing_) {
    if (is_live(entry)) logs.push_back(&entry);
  }
  std::ranges::sort(logs, {}, [](const DirectoryEntry* entry) { return entry->is.number; });
  return logs;
}

// LevelDB always has the log that its MANIFEST names. RocksDB may not, and may have its logs elsewhere.
void LogLoader::report_missing(const Logs& logs) {
  if (state_.is_recovered_) return;
  report_tracked(logs);
  const std::uint64_t number = state_.files_.first_log();
  if (state_.files_.is_rocksdb && logs.empty() && !is_any_missing_) {
    const char* const what =
        "the directory has no write-ahead log; if the database has another folder for them, the newest writes are "
        "missing";
    report("", {.code = Code::kNotFound, .detail = what}, false);
  }
  if (state_.files_.is_rocksdb) report_missing_first(logs);
  if (state_.files_.is_rocksdb) return;
  if (number == 0 || (!logs.empty() && logs.front()->is.number <= number)) return;
  if (!logs.empty() && says_log_was_removed(context_, files(), number)) return;
  report(fmt::format("{:06}.log", number),
         {.code = Code::kNotFound, .detail = "the MANIFEST names this write-ahead log, and it does not exist"});
  lose_logs();
}

// A RocksDB that is open says the number of the first log that it keeps, which exists. When it is opened, it says that
// of none. A copy of it (Checkpoint) lacks a log without writes, after which there is none.
void LogLoader::report_missing_first(const Logs& logs) {
  const std::uint64_t least = state_.files_.least_log;
  if (logs.empty() || logs.back()->is.number < least || least <= last_of_earlier_use()) return;
  const auto has_number = [&](const DirectoryEntry& entry) { return entry.is.number == least; };
  if (std::ranges::any_of(state_.listing_, has_number) || state_.files_.removed_files.contains(least)) return;
  report(fmt::format("{:06}.log", least),
         {.code = Code::kNotFound, .detail = "the MANIFEST keeps this write-ahead log, and it does not exist"});
  lose_logs();
}

// Returns the number after which all files were begun since RocksDB was opened last, when it writes first a MANIFEST
// and then an OPTIONS file; UINT64_MAX: unknown. If it may have continued the MANIFEST, it may have ended between these
// two.
std::uint64_t LogLoader::last_of_earlier_use() const {
  if (state_.options_file_.reuses_manifest.value_or(true)) return UINT64_MAX;
  std::uint64_t last = parse_file_name(state_.manifest_name_).number;
  for (const DirectoryEntry& entry : state_.listing_) {
    last = std::max(last, options_file_number(entry.name).value_or(0));
  }
  return last;
}

// RocksDB may state which logs must exist, and how long they are at least.
void LogLoader::report_tracked(const Logs& logs) {
  for (const auto& [number, size] : state_.files_.tracked_logs) {
    if (size == 0) continue;
    const auto found = std::ranges::find(logs, number, [](const DirectoryEntry* log) { return log->is.number; });
    const bool is_missing = found == logs.end();
    if (!is_missing && (*found)->size >= size) continue;
    const std::string name = is_missing ? fmt::format("{:06}.log", number) : (*found)->name;
    const Code code = is_missing ? Code::kNotFound : Code::kDamage;
    const std::string detail =
        is_missing ? "the MANIFEST names this write-ahead log, and it does not exist"
                   : fmt::format("{}, and the MANIFEST says at least {}", counted((*found)->size, "byte"), size);
    report(name, {.code = code, .detail = detail});
    lose_logs();
  }
}

// Returns whether a log was begun before RocksDB was opened last, which writes a MANIFEST after it has begun a log, and
// is not the first that the MANIFEST needs.
bool LogLoader::is_of_earlier_use(std::uint64_t log) const {
  const std::uint64_t manifest = parse_file_name(state_.manifest_name_).number;
  const auto is_between = [&](const DirectoryEntry& entry) {
    return is_live(entry) && entry.is.number > log && entry.is.number < manifest;
  };
  return log > state_.files_.first_log() && std::ranges::any_of(state_.listing_, is_between);
}

// Returns whether a log of RocksDB with a number between these may be gone: no other file has had one of these numbers.
// If `after` is 0: whether the logs before this one are gone.
bool LogLoader::may_lack_log(std::uint64_t after, std::uint64_t before) const {
  if (after == 0) return is_current_log_gone(state_.files_, before) || is_of_earlier_use(before);
  std::set<std::uint64_t> known;
  const auto add = [&](std::uint64_t number) {
    if (number > after && number < before) known.insert(number);
  };
  for (const DirectoryEntry& entry : state_.listing_) {
    const auto options = options_file_number(entry.name);
    add(options.value_or(entry.is.number));
    if (options && *options > 0) add(*options - 1);  // of its temporary name
  }
  for (const auto& [number, table] : state_.files_.tables) add(number);
  for (const auto& [number, file] : state_.files_.blob_files) add(number);
  for (const std::uint64_t number : state_.files_.removed_files) add(number);
  return known.size() < before - after - 1;
}

LogReplay::FirstLogs LogLoader::first_logs() const {
  if (state_.is_recovered_) return std::nullopt;
  std::map<std::uint32_t, std::uint64_t> first;
  for (const auto& [id, family] : state_.files_.families) {
    const std::uint64_t previous = state_.files_.previous_log;
    first[id] = previous == 0 ? family.log_number : std::min(previous, family.log_number);
  }
  return first;
}

// Returns the number of the first log that must exist.
std::uint64_t LogLoader::least_log() const {
  std::uint64_t least = UINT64_MAX;
  for (const auto& [id, family] : state_.files_.families) least = std::min(least, family.log_number);
  return std::max(least, state_.files_.least_log);
}

LogReplay::Setup LogLoader::setup() const {
  LogReplay::Setup setup{.first_logs = first_logs(), .are_files_alone = !only_.empty()};
  for (const auto& [id, view] : state_.families_) {
    using Timestamps = LogReplay::Setup::Timestamps;
    if (!view.order.is_known() || !view.is_order_proved) continue;
    const Timestamps of_timed = view.state.persists_timestamps ? Timestamps::kInTables : Timestamps::kNotInTables;
    setup.timestamps[id] = view.order.has_timestamps() ? of_timed : Timestamps::kNone;
  }
  if (state_.is_recovered_) return setup;
  setup.last_before = state_.files_.last_sequence;
  setup.may_have_gaps = state_.files_.is_rocksdb;
  if (setup.may_have_gaps) setup.may_lack_log = [this](auto after, auto before) { return may_lack_log(after, before); };
  const RecoveryMode mode = state_.options_file_.recovery_mode;
  if (setup.may_have_gaps) setup.last_of_earlier_use = last_of_earlier_use();
  setup.chain = {.least_log = least_log(),
                 .stops_at_open_end = state_.files_.is_rocksdb && mode == RecoveryMode::kPointInTime,
                 .checks_predecessors = mode != RecoveryMode::kSkipDamage};
  setup.refuses_torn_ends = mode == RecoveryMode::kAbsolute;
  return setup;
}

Result<void> LogLoader::read_blob_files(LoggedWrites& writes) {
  state_.files_.is_rocksdb = true;
  ASSIGN_OR_RETURN(auto replay, replay_blob_files(context_, files(), only_, state_.options_.limits, writes));
  for (Problem& problem : replay.problems) state_.report(std::move(problem));
  std::ranges::move(replay.losses, std::back_inserter(state_.losses_));
  if (writes.count() > 0 && writes.of_family(0).empty()) state_.families_.erase(0);
  return {};
}

void LogLoader::take_writes(LogReplay& replay) {
  for (const std::uint32_t id : replay.writes().families()) add_family(id);
  const auto order_of = [&](std::uint32_t id) {
    const FamilyView* view = state_.family(id);
    return view == nullptr ? KeyOrder() : view->order;
  };
  state_.uncommitted_ = std::make_shared<const SequenceRanges>(replay.uncommitted());
  replay.writes().finish(order_of, *state_.uncommitted_);
  state_.logged_ = std::make_unique<LoggedWrites>(std::move(replay.writes()));
  for (const std::uint32_t id : state_.logged_->families()) {
    const Family& family = state_.families_[id].state.family;
    const RangeDeletions& deletions = state_.logged_->range_deletions(id);
    const std::size_t reversed = family.comparator.empty() ? deletions.reversed() : 0;
    state_.report_ineffective("", deletions.ineffective() + reversed);
  }
}

// Logs have only the numbers of families. OPTIONS names their comparators by their names, of which the tables have
// some.
void LogLoader::add_family(std::uint32_t id) {
  if (state_.families_.contains(id)) return;
  std::set<std::string> named;
  for (const auto& [other, view] : state_.families_) named.insert(view.state.family.name);
  std::string comparator = state_.options_file_.only_comparator(named);
  state_.families_.emplace(id, FamilyView({.family = {.id = id, .comparator = std::move(comparator)}}));
}

void LogLoader::take_losses(LogReplay& replay, const Logs& logs) {
  for (Problem& problem : replay.problems()) state_.report(std::move(problem));
  std::ranges::move(replay.losses(), std::back_inserter(state_.losses_));
  first_sequence_ = replay.first_sequence();
  last_family_ = replay.last_family();
  if (lost_log_ == 0 || (!logs.empty() && logs.front()->is.number <= lost_log_)) return;
  const std::uint64_t first = first_sequence_.value_or(UINT64_MAX);
  state_.losses_.push_back({.largest_sequence = first - std::min<std::uint64_t>(first, 1)});
}

}  // namespace recordfs::database
