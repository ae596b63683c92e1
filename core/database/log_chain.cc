#include "core/database/log_chain.h"

#include <utility>

#include <fmt/format.h>

namespace recordfs::database {

void LogChain::begin_log(const std::string& name, std::uint64_t number, std::uint64_t size,
                         const std::optional<leveldb_log::Predecessor>& predecessor) {
  log_ = {.name = name, .number = number, .size = size};
  end_.reset();
  if (predecessor) check_predecessor(*predecessor);
}

void LogChain::take_batch(std::uint64_t sequence) {
  check_order(sequence);
  check_open_end(sequence);
  end_.reset();
  log_.last_sequence = sequence;
  has_batches_ = true;
}

void LogChain::take_end(const DamagedRegion& region) {
  if (!end_) end_ = Error{.code = Code::kDamage, .position = region.begin, .detail = region.reason};
}

void LogChain::end_log(std::uint64_t next_sequence) {
  if (end_) open_end_ = OpenEnd{log_.name, *end_, has_batches_ ? std::optional(next_sequence) : std::nullopt};
  if (log_.last_sequence > 0) least_next_ = log_.last_sequence + (next_sequence > log_.last_sequence ? 1 : 0);
  previous_ = std::move(log_);
}

// Reports a log before this one that is not as this one says.
void LogChain::check_predecessor(const leveldb_log::Predecessor& predecessor) {
  if (!rules_.least_log || !rules_.checks_predecessors) return;
  const auto report = [&](const std::string& what) {
    take_loss_(log_.name,
               {.code = Code::kDamage,
                .detail = fmt::format("the log before this one, {:06}.log, {}", predecessor.log_number, what)},
               true);
  };
  if (!previous_ || previous_->number != predecessor.log_number) {
    if (predecessor.log_number >= *rules_.least_log) report("does not exist");
  } else if (previous_->size < predecessor.size) {
    report(fmt::format("has {} bytes, and had {}", previous_->size, predecessor.size));
  } else if (previous_->last_sequence != predecessor.last_sequence) {
    report(fmt::format("ends with write {}, and ended with {}", previous_->last_sequence, predecessor.last_sequence));
  }
}

// Reports a log whose first batch is not newer than the last one of the log before it. A batch that only prepares a
// transaction takes no number. Nothing tells which of the logs is in the place of another one.
void LogChain::check_order(std::uint64_t sequence) {
  const std::uint64_t least = std::exchange(least_next_, 0);
  if (!rules_.least_log || sequence >= least) return;
  take_loss_(log_.name,
             {.code = Code::kDamage,
              .detail = fmt::format("begins with write {}, and the log before it has later ones, so one of them is not "
                                    "the log of its name",
                                    sequence)},
             false);
}

// RocksDB stops at such an end, unless the numbers show that the database was opened and written to after it.
void LogChain::check_open_end(std::uint64_t sequence) {
  const auto end = std::exchange(open_end_, std::nullopt);
  if (!end || !rules_.stops_at_open_end || end->next_sequence == sequence) return;
  const std::string lost = end->next_sequence && *end->next_sequence < sequence
                               ? fmt::format("the writes {} to {} are in no log", *end->next_sequence, sequence - 1)
                               : fmt::format("the numbers of {} do not continue", log_.name);
  take_loss_(
      end->log,
      {.code = Code::kDamage, .position = end->why.position, .detail = fmt::format("{}: {}", end->why.detail, lost)},
      true);
}

}  // namespace recordfs::database
