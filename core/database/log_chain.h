// Whether the logs of a database continue one another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/head.h"

namespace recordfs::database {

// One thread. Call its functions in the order of the logs and of their batches.
class LogChain {
 public:
  struct Rules {
    // The number of the first log that must exist; nullopt: unknown.
    std::optional<std::uint64_t> least_log{};
    // Whether a log that ends inside a record, or at the records of an older log, is an end also for later logs whose
    // numbers do not continue: RocksDB's default (kPointInTimeRecovery).
    bool stops_at_open_end = false;
    // Whether a log must be preceded by the one that it names.
    bool checks_predecessors = true;
  };
  // Receives writes that are lost at a place of a log. `is_before`: they are older than the next batch.
  using TakeLoss = std::function<void(const std::string& log, Error why, bool is_before)>;

  LogChain(Rules rules, TakeLoss take_loss) : rules_(rules), take_loss_(std::move(take_loss)) {}

  // `size`: bytes of the log.
  void begin_log(const std::string& name, std::uint64_t number, std::uint64_t size,
                 const std::optional<leveldb_log::Predecessor>& predecessor);
  // `sequence`: the number of the batch's first write.
  void take_batch(std::uint64_t sequence);
  // A region of class stale or unfinished.
  void take_end(const DamagedRegion& region);
  // `next_sequence`: the number after the last write.
  void end_log(std::uint64_t next_sequence);

 private:
  struct Log {
    std::string name;
    std::uint64_t number = 0;
    std::uint64_t size = 0;           // bytes
    std::uint64_t last_sequence = 0;  // of its last batch; 0: it has none
  };
  // A log that ended before its end.
  struct OpenEnd {
    std::string log;
    Error why;
    std::optional<std::uint64_t> next_sequence;  // nullopt: it has no batch, and there was none before it
  };
  void check_predecessor(const leveldb_log::Predecessor& predecessor);
  void check_order(std::uint64_t sequence);
  void check_open_end(std::uint64_t sequence);

  const Rules rules_;
  const TakeLoss take_loss_;
  std::optional<Log> previous_{};
  Log log_;
  bool has_batches_ = false;
  std::uint64_t least_next_ = 0;  // no number of a batch in the next log is lower
  std::optional<Error> end_{};    // what is after the last batch of the log, if that is no damage but an end
  std::optional<OpenEnd> open_end_{};
};

}  // namespace recordfs::database
