#include "core/database/log_replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/database/entry.h"

namespace recordfs::database {
namespace {

constexpr std::uint64_t kMostPrepared = std::uint64_t{256} << 20;  // bytes of transactions that have not ended
constexpr std::size_t kMostProblems = 65536;
constexpr std::uint64_t kMostSequence = (std::uint64_t{1} << 56) - 1;

std::uint64_t memory_of(const LoggedWrites::Pending& write) {
  return sizeof(write) + write.key.size() + write.value.size();
}

Code code_of(DamageClass damage_class) {
  return damage_class == DamageClass::kUnsupported ? Code::kUnsupported : Code::kDamage;
}

}  // namespace

LogReplay::LogReplay(const Options& options, Setup setup)
    : setup_(std::move(setup)), writes_({.value_bytes = options.log_value_bytes, .key_bytes = options.log_key_bytes}) {}

Result<void> LogReplay::read(const RequestContext& context, OpenFiles& files, const std::string& name,
                             std::uint64_t number) {
  name_ = name;
  number_ = number;
  log_ = writes_.add_log(name);
  ASSIGN_OR_RETURN(auto source, files.open(name));
  auto log = open_log(context, std::move(source), Limits{});
  if (!log) {
    if (!is_permanent(log.error().code)) return std::move(log).error();
    lose(log.error());
    return {};
  }
  if (log->head.is_of_another_log() && setup_.are_files_alone) {
    problems_.push_back({.file = name_,
                         .error = {.code = Code::kUnsupported,
                                   .detail = fmt::format("the records are those of log {}, which its database ignores",
                                                         *log->head.session.log_number)}});
  }
  return visit_log(context, *log->container, *this);
}

Result<void> LogReplay::take_record(const RecordPlace& place, Bytes record) {
  Result<void> taken;
  in_section_ = false;
  bool is_first = true;
  const auto start = leveldb_log::batch_sequence(record);
  if (start) check_gap(*start, place.chunk.position);
  if (start) next_sequence_ = *start;
  const auto read = leveldb_log::batch_operations(record, [&](const leveldb_log::BatchOperation& operation) {
    if (is_first) end_losses();
    is_first = false;
    taken = take_operation(operation, place, record);
    return taken.has_value();
  });
  drop(std::exchange(section_, {}));
  if (!read) {
    Error error = read.error();
    error.position = place.chunk.position;
    lose(error);
  }
  return taken;
}

void LogReplay::take_damage(const DamagedRegion& region) {
  if (region.damage_class == DamageClass::kStale) return;
  const Error error{.code = code_of(region.damage_class), .position = region.begin, .detail = region.reason};
  if (region.damage_class != DamageClass::kUnfinished && region.records_lost != 0) return lose(error);
  // A write that never was complete, or filling.
  if (problems_.size() == kMostProblems) return;
  problems_.push_back({.file = name_, .error = error, .loses_data = false});
  if (region.damage_class == DamageClass::kUnfinished) problems_.back().error.code = Code::kUnfinished;
}

Result<void> LogReplay::take_operation(const leveldb_log::BatchOperation& operation, const RecordPlace& place,
                                       Bytes record) {
  switch (operation.kind) {
    case KeyChangeKind::kBegin:
      drop(std::exchange(section_, {}));
      in_section_ = true;
      return {};
    case KeyChangeKind::kPrepare: return prepare(std::string(as_text(operation.key)));
    case KeyChangeKind::kCommit: return commit(std::string(as_text(operation.key)));
    case KeyChangeKind::kRollback: {
      const auto ended = prepared_.extract(std::string(as_text(operation.key)));
      if (!ended.empty()) drop(ended.mapped());
      return {};
    }
    default: return take_write(operation, place, record);
  }
}

Result<void> LogReplay::take_write(const leveldb_log::BatchOperation& operation, const RecordPlace& place,
                                   Bytes record) {
  last_family_ = std::max(last_family_, operation.family);
  if (!in_section_ && !counts(operation.family)) {
    ++next_sequence_;
    return {};
  }
  Pending write{.family = operation.family,
                .type = operation.type,
                .log = log_,
                .key = std::string(as_text(operation.key)),
                .place = place,
                .value_begin = extent_in(record, operation.value).begin,
                .value_size = operation.value.size()};
  write.is_value_in_memory = operation.type == kTypeDeleteRange || writes_.has_room_for(operation.value.size());
  if (write.is_value_in_memory) write.value = as_text(operation.value);
  if (!in_section_) return add(write);
  prepared_bytes_ += memory_of(write);
  if (prepared_bytes_ > kMostPrepared) {
    return Error{.code = Code::kLimit, .detail = "prepared transactions exceed the memory limit"};
  }
  section_.push_back(std::move(write));
  return {};
}

Result<void> LogReplay::prepare(const std::string& transaction) {
  if (!in_section_) return {};
  in_section_ = false;
  Section& prepared = prepared_[transaction];
  for (Pending& write : section_) prepared.push_back(std::move(write));
  section_.clear();
  return {};
}

// The writes of a transaction get their numbers at its commit.
Result<void> LogReplay::commit(const std::string& transaction) {
  const auto ended = prepared_.extract(transaction);
  if (ended.empty()) return {};
  for (const Pending& write : ended.mapped()) TRY(add(write));
  drop(ended.mapped());
  return {};
}

Result<void> LogReplay::add(const Pending& write) {
  const std::uint64_t sequence = std::min(next_sequence_++, kMostSequence);
  last_sequence_ = std::max(last_sequence_, sequence);
  return counts(write.family) ? writes_.add(sequence, write) : Result<void>();
}

bool LogReplay::counts(std::uint32_t family) const {
  if (!setup_.first_logs) return true;
  const auto found = setup_.first_logs->find(family);
  return found != setup_.first_logs->end() && number_ >= found->second;
}

void LogReplay::drop(const Section& section) {
  for (const Pending& write : section) prepared_bytes_ -= std::min(prepared_bytes_, memory_of(write));
}

void LogReplay::lose(const Error& error) {
  if (problems_.size() == kMostProblems) return;
  problems_.push_back({.file = name_, .error = error});
  losses_.push_back({.age = Age{.level = -1}});
  ++open_losses_;
}

// Reports writes that are in no log: a log is gone, or an earlier one lost its end.
void LogReplay::check_gap(std::uint64_t start, Position at) {
  const bool is_first = !first_sequence_;
  if (is_first) first_sequence_ = start;
  if (!setup_.last_before || open_losses_ > 0) return;
  const std::uint64_t expected = is_first ? *setup_.last_before + 1 : next_sequence_;
  if (start <= expected) return;
  lose({.code = Code::kDamage,
        .position = at,
        .detail = fmt::format("the writes {} to {} are in no log", expected, start - 1)});
}

// The writes that were lost are older than the next one.
void LogReplay::end_losses() {
  for (; open_losses_ > 0; --open_losses_) {
    losses_[losses_.size() - open_losses_].largest_sequence = next_sequence_ == 0 ? 0 : next_sequence_ - 1;
  }
}

}  // namespace recordfs::database
