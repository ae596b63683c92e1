#include "core/database/log_replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/database/entry.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::database {
namespace {

constexpr std::size_t kMostProblems = 65536;  // of losses, and as many of others
constexpr std::uint64_t kMostSequence = (std::uint64_t{1} << 56) - 1;

// Overwrites the timestamp at the end of a stored key.
void overwrite_timestamp(std::string& key, Bytes timestamp) {
  if (key.size() >= timestamp.size()) key.replace(key.size() - timestamp.size(), timestamp.size(), as_text(timestamp));
}

void set_timestamp(LoggedWrites::Pending& write, Bytes timestamp) {
  if (timestamp.size() != kTimestampSize) return;
  overwrite_timestamp(write.key, timestamp);
  if (write.type == kTypeDeleteRange) overwrite_timestamp(write.value, timestamp);
}

// Returns null if all keys are wanted. The comparator may not be known yet, so a stored key may end with a timestamp.
leveldb_log::WantsWrite wants_only(const std::set<std::string, std::less<>>& keys) {
  if (keys.empty()) return nullptr;
  return [&keys](std::uint8_t type, Bytes stored) {
    const std::string_view key = as_text(stored);
    const std::size_t end = key.size() - std::min(key.size(), kTimestampSize);
    return type == kTypeDeleteRange || keys.contains(key) || keys.contains(key.substr(0, end));
  };
}

Code code_of(DamageClass damage_class) {
  return damage_class == DamageClass::kUnsupported ? Code::kUnsupported : Code::kDamage;
}

}  // namespace

LogReplay::LogReplay(const Options& options, Setup setup)
    : setup_(std::move(setup)),
      wants_(wants_only(options.only_keys)),
      writes_({.value_bytes = options.log_value_bytes, .key_bytes = options.log_key_bytes}),
      chain_(setup_.chain,
             [this](const std::string& log, const Error& why, bool is_before) { lose(log, why, is_before); }) {}

Result<void> LogReplay::read(const RequestContext& context, OpenFiles& files, const std::string& name,
                             std::uint64_t number) {
  previous_number_ = log_.number;
  is_previous_torn_ = log_.is_torn;
  log_ = {.name = name, .number = number, .index = writes_.add_log(name)};
  ASSIGN_OR_RETURN(log_.source, files.open(name));
  auto log = open_log(context, log_.source, Limits{});
  if (!log) {
    if (!is_permanent(log.error().code)) return std::move(log).error();
    lose(log_.name, log.error());
    return {};
  }
  if (log->head.is_of_another_log() && setup_.are_files_alone) {
    problems_.push_back({.file = log_.name,
                         .error = {.code = Code::kUnsupported,
                                   .detail = fmt::format("the records are those of log {}, which its database ignores",
                                                         *log->head.session.log_number)}});
  }
  log_.session = log->head.session;
  const bool is_other = log->head.is_of_another_log();
  if (is_other) check_renamed(*log->head.session.log_number);
  log_.is_recycled = log->head.session.recycled && !is_other;
  chain_.begin_log(name, number, log_.source->size(), is_other ? std::nullopt : log->head.predecessor);
  TRY(visit_log(context, *log_.source, *log->container, *this));
  end_left_over(true);
  chain_.end_log(next_sequence_);
  if (!log_.has_records && empty_log_.name.empty() && must_have_writes(number)) empty_log_ = {log_.name, number};
  return {};
}

// RocksDB renames an old log to write over it, but never to the number of an older one.
void LogReplay::check_renamed(std::uint64_t records_of) {
  if (!setup_.last_before || records_of <= log_.number || log_.number > UINT32_MAX) return;
  lose(log_.name,
       {.code = Code::kDamage,
        .detail = fmt::format("its records are those of log {}, so it is not the log of its name", records_of)},
       false);
}

Result<void> LogReplay::take_record(const RecordPlace& place, Bytes record) {
  const bool is_first_of_log = !std::exchange(log_.has_records, true);
  end_left_over(false);
  if (is_numbered_otherwise_) return {};
  const auto batch = leveldb_log::summarize_batch(record, wants_);
  if (!batch) {
    Error error = batch.error();
    error.position = place.chunk.position;
    lose(log_.name, error);
    return {};
  }
  note_numbering(*batch, record);
  chain_.take_batch(batch->sequence);
  check_gap(batch->sequence, place.chunk.position, is_first_of_log);
  check_empty_log(batch->sequence);
  next_sequence_ = batch->sequence;
  if (batch->unwanted_family && !setup_.is_per_sub_batch()) {
    pass_writes(*batch->unwanted_family, batch->count);
    return {};
  }
  Result<void> taken;
  bool is_first = true;
  const auto end =
      leveldb_log::batch_operations(record, setup_.numbering, [&](const leveldb_log::BatchOperation& operation) {
        if (is_first) end_losses();
        is_first = false;
        taken = take_operation(operation, place, record);
        return taken.has_value();
      });
  if (setup_.is_per_sub_batch()) next_sequence_ = end;
  transactions_.drop_section();
  return taken;
}

// Counts writes of a family that are not wanted, as take_write() does.
void LogReplay::pass_writes(std::uint32_t family, std::uint32_t count) {
  end_losses();
  last_family_ = std::max(last_family_, family);
  const std::uint64_t first = std::exchange(next_sequence_, next_sequence_ + count);
  if (!setup_.counts(family, log_.number)) return;
  last_sequence_ = std::max(last_sequence_, std::min(std::max(first, next_sequence_ - 1), kMostSequence));
  writes_.add_unwanted(family, count);
}

// All logs of a database are numbered in the same way: the database refuses others.
void LogReplay::note_numbering(const leveldb_log::BatchSummary& batch, Bytes record) {
  using leveldb_log::NumberingMarks;
  if (setup_.is_per_sub_batch() || is_numbering_known_) return;
  if (const auto end = std::exchange(doubtful_end_, std::nullopt)) is_numbered_otherwise_ = *end != batch.sequence;
  if (batch.marks == NumberingMarks::kPerWrite) is_numbering_known_ = true;
  if (batch.marks == NumberingMarks::kPerSubBatch) is_numbered_otherwise_ = true;
  if (batch.marks != NumberingMarks::kPerhapsPerSubBatch) return;
  const std::uint64_t end = batch.sequence + batch.count;
  const auto goes_on = [](const auto&) { return true; };
  if (leveldb_log::batch_operations(record, leveldb_log::Numbering::kPerSubBatch, goes_on) != end) doubtful_end_ = end;
}

Result<void> LogReplay::take_damage(const RequestContext& context, const DamagedRegion& region) {
  const bool is_stale = region.damage_class == DamageClass::kStale;
  const bool is_end = region.damage_class == DamageClass::kUnfinished;
  ASSIGN_OR_RETURN(const bool is_left_over, may_be_left_over(context, region));
  log_.is_torn |= is_end;
  log_.is_damaged |= !is_stale && !is_end;
  if (is_stale || is_end || is_left_over) chain_.take_end(region);
  if (is_left_over && !log_.left_over) log_.left_over = region;
  if (is_stale || is_left_over) return {};
  Error error{.code = code_of(region.damage_class), .position = region.begin, .detail = region.reason};
  const bool is_refused = setup_.refuses_torn_ends && is_end;
  if (is_refused) error.detail += "; the database refuses that (wal_recovery_mode)";
  if (is_refused || (!is_end && region.records_lost != 0)) {
    end_left_over(false);
    lose(log_.name, error);
  } else {
    report(std::move(error), is_end);
  }
  return {};
}

Result<void> LogReplay::take_mixed_part(const RequestContext& context, Position begin, Position end) {
  const bool is_leveldb = setup_.last_before && !setup_.may_have_gaps;
  if (is_leveldb || setup_.timestamps.empty()) return {};
  return read_timestamp_sizes(context, *log_.source, log_.session, begin, end, log_.timestamp_sizes);
}

// Reports a write that never was complete, or filling.
void LogReplay::report(Error error, bool is_end) {
  if (harmless_ == kMostProblems) return;
  ++harmless_;
  if (is_end) error.code = Code::kUnfinished;
  problems_.push_back({.file = log_.name, .error = std::move(error), .loses_data = false});
}

// Returns whether an earlier log may have left these bytes after the end of a recycled one. They may be anything but a
// damaged fragment of this log. RocksDB stops at either.
Result<bool> LogReplay::may_be_left_over(const RequestContext& context, const DamagedRegion& region) const {
  if (!log_.is_recycled || region.damage_class != DamageClass::kDamage) return false;
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *log_.source, region.begin, leveldb_log::kFrameSize));
  // Damage may have set the number of this log to zero.
  constexpr std::size_t kNumberAt = leveldb_log::kRecyclableHeaderSize - sizeof(std::uint32_t);
  const bool is_last = region.end >= log_.source->size();
  const Bytes number = bytes.view().subspan(std::min(bytes.view().size(), kNumberAt));
  if (!is_last && Cursor(number).u32_le() == 0) return false;
  return !leveldb_log::may_have_been_of_log(bytes.view(), static_cast<std::uint32_t>(log_.number));
}

// Such bytes are no end, but damage, if anything of this log follows them.
void LogReplay::end_left_over(bool is_end) {
  const auto region = std::exchange(log_.left_over, std::nullopt);
  if (!region) return;
  Error error{.code = Code::kDamage, .position = region->begin, .detail = region->reason};
  is_end ? report(std::move(error), true) : lose(log_.name, error);
}

Result<void> LogReplay::take_operation(const leveldb_log::BatchOperation& operation, const RecordPlace& place,
                                       Bytes record) {
  switch (operation.kind) {
    case KeyChangeKind::kBegin:
    case KeyChangeKind::kPrepare:
    case KeyChangeKind::kCommit:
    case KeyChangeKind::kRollback: return take_marker(operation);
    default: return take_write(operation, place, record);
  }
}

// A rollback of writes that are numbered already has writes that restore their keys.
Result<void> LogReplay::take_marker(const leveldb_log::BatchOperation& operation) {
  const std::string transaction(as_text(operation.key));
  switch (operation.kind) {
    case KeyChangeKind::kBegin: transactions_.begin_section(operation.sequence); return {};
    case KeyChangeKind::kPrepare: return transactions_.prepare(transaction, operation.sequence);
    case KeyChangeKind::kCommit: return commit(transaction, operation.value);
    default: transactions_.end(transaction); return {};
  }
}

Result<void> LogReplay::take_write(const leveldb_log::BatchOperation& operation, const RecordPlace& place,
                                   Bytes record) {
  last_family_ = std::max(last_family_, operation.family);
  const bool is_kept = transactions_.in_section() && !setup_.is_per_sub_batch();
  if (!is_kept && !setup_.counts(operation.family, log_.number)) {
    ++next_sequence_;
    return {};
  }
  if (is_kept && setup_.is_dropped(operation.family)) return transactions_.keep({.family = operation.family});
  Pending write{.family = operation.family,
                .type = operation.type,
                .log = log_.index,
                .is_wanted = !wants_ || wants_(operation.type, operation.key)};
  if (write.is_wanted) {
    write.key = as_text(operation.key);
    write.place = place;
    write.value_begin = extent_in(record, operation.value).begin;
    write.value_size = operation.value.size();
    write.is_value_in_memory = operation.type == kTypeDeleteRange || writes_.has_room_for(operation.value.size());
    if (write.is_value_in_memory) write.value = as_text(operation.value);
    if (!fit_timestamps(write)) write = {.family = write.family, .is_wanted = false};
  }
  if (is_kept) return transactions_.keep(std::move(write));
  return add(setup_.is_per_sub_batch() ? *operation.sequence : next_sequence_++, write);
}

// Makes a key end as its family's keys do now. Without timestamps, keys count as if theirs were 0. Returns false, which
// is reported, if nothing tells how the key ends.
bool LogReplay::fit_timestamps(Pending& write) {
  const auto now = setup_.timestamps.find(write.family);
  if (now == setup_.timestamps.end()) return true;
  const bool has_now = now->second != Setup::Timestamps::kNone;
  const auto stated = log_.timestamp_sizes.find(write.family);
  const bool is_stated = stated != log_.timestamp_sizes.end();
  const bool is_range = write.type == kTypeDeleteRange;
  if (is_stated && stated->second != kTimestampSize) {
    lose_keys({.code = Code::kUnsupported,
               .position = write.place.chunk.position,
               .detail = fmt::format("keys with timestamps of {} bytes", stated->second)});
    return false;
  }
  // RocksDB before 8.3 states no sizes.
  if (is_stated == has_now || (!is_stated && now->second == Setup::Timestamps::kInTables)) return true;
  const bool is_too_short = write.key.size() < kTimestampSize || (is_range && write.value.size() < kTimestampSize);
  if (is_stated ? is_too_short : log_.is_damaged) {
    lose_keys({.code = Code::kDamage,
               .position = write.place.chunk.position,
               .detail = is_stated ? "a key is shorter than its timestamp"
                                   : "nothing tells whether keys have timestamps, since the log is damaged"});
    return false;
  }
  const auto fit = [&](std::string& key) {
    is_stated ? key.resize(key.size() - kTimestampSize) : key.resize(key.size() + kTimestampSize, '\0');
  };
  fit(write.key);
  if (is_range) fit(write.value);
  return true;
}

// Reports it once for each log.
void LogReplay::lose_keys(Error why) {
  if (!std::exchange(log_.has_doubtful_keys, true)) lose(log_.name, why, false);
}

// The writes of a transaction that writes when it commits get their numbers then, and their timestamps.
Result<void> LogReplay::commit(const std::string& transaction, Bytes timestamp) {
  if (setup_.are_files_alone && !transactions_.has(transaction) && !std::exchange(log_.has_foreign_commit, true)) {
    problems_.push_back({.file = log_.name,
                         .error = {.code = Code::kUnsupported,
                                   .detail = "the writes of a transaction that is committed here are in another log"}});
  }
  for (Pending& write : transactions_.end(transaction)) {
    if (!timestamp.empty() && setup_.has_timestamps(write.family)) set_timestamp(write, timestamp);
    TRY(add(next_sequence_++, write));
  }
  return {};
}

void LogReplay::note_open_transactions() {
  if (!setup_.are_files_alone || !transactions_.has_any()) return;
  problems_.push_back({.file = log_.name,
                       .error = {.code = Code::kUnsupported,
                                 .detail = "transactions are prepared here, and another log may commit them"}});
}

Result<void> LogReplay::add(std::uint64_t sequence, const Pending& write) {
  sequence = std::min(sequence, kMostSequence);
  last_sequence_ = std::max(last_sequence_, sequence);
  return setup_.counts(write.family, log_.number) ? writes_.add(sequence, write) : Result<void>();
}

void LogReplay::lose(const std::string& log, const Error& error, bool is_before) {
  const Loss lost{.age = Age{.level = -1}, .cause = cause_of(error.code)};
  // One more stands for all others. It is of writes with any number.
  if (losses_.size() == kMostProblems) losses_.insert(losses_.begin(), lost);
  if (losses_.size() > kMostProblems) return;
  problems_.push_back({.file = log, .error = error});
  const auto open = losses_.end() - static_cast<std::ptrdiff_t>(open_losses_);
  losses_.insert(is_before ? losses_.end() : open, lost);
  if (is_before) ++open_losses_;
}

// Reports writes that are in no log: a log is gone, or an earlier one lost its end.
void LogReplay::check_gap(std::uint64_t start, Position at, bool is_first_of_log) {
  const bool is_first = !first_sequence_;
  if (is_first) first_sequence_ = start;
  if (!setup_.last_before || open_losses_ > 0) return;
  if (setup_.may_have_gaps && (!is_first_of_log || !may_follow_lost_log())) return;
  const std::uint64_t before = *setup_.last_before + 1;
  std::uint64_t expected = is_first ? before : next_sequence_;
  if (setup_.may_have_gaps) expected = std::max(expected, before);
  if (start <= expected) return;
  lose(log_.name, {.code = Code::kDamage,
                   .position = at,
                   .detail = fmt::format("the writes {} to {} are in no log", expected, start - 1)});
}

// A log without writes, or one that ends inside a write, explains a gap.
bool LogReplay::may_follow_lost_log() const {
  return empty_log_.name.empty() && !is_previous_torn_ && setup_.may_lack_log &&
         setup_.may_lack_log(previous_number_, log_.number);
}

// RocksDB also keeps the logs of transactions that were prepared before the first one that must exist.
bool LogReplay::must_have_writes(std::uint64_t number) const {
  return setup_.last_before && (!setup_.may_have_gaps || (setup_.chain.least_log && number >= *setup_.chain.least_log));
}

// LevelDB begins a log when that before it has filled a table. It stays live until the table is there. RocksDB begins
// none after an empty one while it is open. When it opens, it may keep older logs (avoid_flush_during_recovery), but
// then no write is missing, unless it was made without a log.
void LogReplay::check_empty_log(std::uint64_t start) {
  if (empty_log_.name.empty()) return;
  const NumberedLog log = std::exchange(empty_log_, {});
  if (open_losses_ > 0) return;
  std::string why = fmt::format("{} continues it", log_.name);
  std::uint64_t expected = std::max(*setup_.last_before + 1, next_sequence_);
  if (start <= expected && log.number > setup_.last_of_earlier_use) expected = next_sequence_;
  if (setup_.may_have_gaps && start <= expected) return;
  if (setup_.may_have_gaps && expected > 0) {
    why = fmt::format("the writes {} to {} are in no other log", expected, start - 1);
  }
  lose(log.name, {.code = Code::kDamage, .detail = fmt::format("no writes, although {}, so they may be lost", why)});
}

// The writes that were lost are older than the next one.
void LogReplay::end_losses() {
  for (; open_losses_ > 0; --open_losses_) {
    losses_[losses_.size() - open_losses_].largest_sequence = next_sequence_ == 0 ? 0 : next_sequence_ - 1;
  }
}

Result<std::unique_ptr<LogReplay>> replay_logs(const RequestContext& context, OpenFiles& files,
                                               const std::vector<NumberedLog>& logs, const Options& options,
                                               LogReplay::Setup setup) {
  while (true) {
    auto replay = std::make_unique<LogReplay>(options, setup);
    for (const NumberedLog& log : logs) TRY(replay->read(context, files, log.name, log.number));
    replay->note_open_transactions();
    if (!replay->is_numbered_otherwise()) return replay;
    setup.numbering = leveldb_log::Numbering::kPerSubBatch;
  }
}

}  // namespace recordfs::database
