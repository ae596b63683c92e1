// Replays write-ahead logs, as a database does when it is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/directory.h"
#include "core/database/log_chain.h"
#include "core/database/log_records.h"
#include "core/database/logged_writes.h"
#include "core/database/loss.h"
#include "core/database/sequence_ranges.h"
#include "core/database/transactions.h"
#include "core/formats/leveldb_log/timestamp_sizes.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::database {

// A log to replay.
struct NumberedLog {
  std::string name;
  std::uint64_t number = 0;
};

// One thread.
class LogReplay final : private LogVisitor {
 public:
  // `first_logs`: for each family, the number of the first log whose writes count; writes of other families do not
  // count. nullopt: those of all families count.
  using FirstLogs = std::optional<std::map<std::uint32_t, std::uint64_t>>;
  struct Setup {
    FirstLogs first_logs{};
    // The highest sequence number of the writes before the logs. nullopt: unknown.
    std::optional<std::uint64_t> last_before{};
    // Whether the database may write without a log (RocksDB). If not, a gap in the sequence numbers is a loss. If so,
    // it is one only at a log without writes, or where a log is missing.
    bool may_have_gaps = false;
    // Returns whether a log with a number between these may be gone; 0: before the first live one. Null: none is.
    std::function<bool(std::uint64_t after, std::uint64_t before)> may_lack_log{};
    // The number after which all files are of the present use of a RocksDB; UINT64_MAX: unknown.
    std::uint64_t last_of_earlier_use = UINT64_MAX;
    LogChain::Rules chain{};
    bool are_files_alone = false;  // the logs were named one by one, and are not those of a directory
    leveldb_log::Numbering numbering = leveldb_log::Numbering::kPerWrite;
    // Whether stored keys end with user-defined timestamps, by family, if its comparator is known.
    enum class Timestamps : std::uint8_t {
      kNone,
      kInTables,
      kNotInTables,  // RocksDB can enable and disable them, so the keys of an earlier log may end otherwise
    };
    std::map<std::uint32_t, Timestamps> timestamps{};
    // Whether the database refuses logs that end inside a record (kAbsoluteConsistency).
    bool refuses_torn_ends = false;

    bool is_per_sub_batch() const { return numbering == leveldb_log::Numbering::kPerSubBatch; }
    bool has_timestamps(std::uint32_t family) const {
      const auto found = timestamps.find(family);
      return found != timestamps.end() && found->second != Timestamps::kNone;
    }
    // Returns whether the family is gone.
    bool is_dropped(std::uint32_t family) const { return first_logs && !first_logs->contains(family); }
    // Returns whether a family's writes in a log count.
    bool counts(std::uint32_t family, std::uint64_t log) const {
      if (!first_logs) return true;
      const auto found = first_logs->find(family);
      return found != first_logs->end() && log >= found->second;
    }
  };
  // `options` must outlive this.
  LogReplay(const Options& options, Setup setup);

  // Replays one log. Call in the order of the logs. Damage becomes problems and losses. Fails with kLimit, with
  // kChanged or kIo if the file is gone, and with other failures that may pass.
  Result<void> read(const RequestContext& context, OpenFiles& files, const std::string& name, std::uint64_t number);

  // Call after the last log. Returns whether marks in the logs say that the writes are numbered per sub-batch. Then all
  // logs have to be read again, by an object with that setup.
  bool is_numbered_otherwise() const { return is_numbered_otherwise_ || doubtful_end_; }

  // Call after the last log. Reports transactions that another log may commit, if the logs are alone.
  void note_open_transactions();

  // Results, after the last log.
  LoggedWrites& writes() { return writes_; }
  std::vector<Problem>& problems() { return problems_; }
  std::vector<Loss>& losses() { return losses_; }
  // Of the writes; nullopt: there are none.
  std::optional<std::uint64_t> first_sequence() const { return first_sequence_; }
  std::uint64_t last_sequence() const { return last_sequence_; }
  // Returns the sequence numbers of writes whose transaction has not committed. Such writes do not count; they may also
  // be in tables.
  SequenceRanges uncommitted() const { return transactions_.uncommitted(); }
  // The largest number of a family that has writes, whether they count or not.
  std::uint32_t last_family() const { return last_family_; }

 private:
  using Pending = LoggedWrites::Pending;
  struct Log {
    std::string name;
    std::uint64_t number = 0;
    std::uint32_t index = 0;  // in the writes
    std::shared_ptr<const Source> source{};
    bool has_records = false;
    bool is_recycled = false;
    bool is_torn = false;  // it ends inside a record
    leveldb_log::Session session{};
    leveldb_log::TimestampSizes timestamp_sizes{};  // as stated so far
    bool is_damaged = false;                        // before the next record
    bool has_doubtful_keys = false;                 // which were reported
    bool has_foreign_commit = false;                // of a transaction whose writes are in another log
    std::optional<DamagedRegion> left_over{};       // after the last record, perhaps of an earlier log
  };

  Result<void> take_record(const RecordPlace& place, Bytes record) override;
  Result<void> take_damage(const RequestContext& context, const DamagedRegion& region) override;
  Result<void> take_mixed_part(const RequestContext& context, Position begin, Position end) override;
  void report(Error error, bool is_end);
  Result<bool> may_be_left_over(const RequestContext& context, const DamagedRegion& region) const;
  void end_left_over(bool is_end);
  void pass_writes(std::uint32_t family, std::uint32_t count);
  Result<void> take_operation(const leveldb_log::BatchOperation& operation, const RecordPlace& place, Bytes record);
  Result<void> take_write(const leveldb_log::BatchOperation& operation, const RecordPlace& place, Bytes record);
  bool fit_timestamps(Pending& write);
  void lose_keys(Error why);
  Result<void> take_marker(const leveldb_log::BatchOperation& operation);
  Result<void> commit(const std::string& transaction, Bytes timestamp);
  Result<void> add(std::uint64_t sequence, const Pending& write);
  void note_numbering(const leveldb_log::BatchSummary& batch, Bytes record);
  void lose(const std::string& log, const Error& error, bool is_before = true);
  void end_losses();
  void check_gap(std::uint64_t start, Position at, bool is_first_of_log);
  bool may_follow_lost_log() const;
  void check_empty_log(std::uint64_t start);
  void check_renamed(std::uint64_t records_of);
  bool must_have_writes(std::uint64_t number) const;

  const Setup setup_;
  const leveldb_log::WantsWrite wants_;  // null: all writes are wanted
  LoggedWrites writes_;
  std::vector<Problem> problems_;
  std::vector<Loss> losses_;
  std::size_t open_losses_ = 0;  // the last ones, which no record follows yet
  std::size_t harmless_ = 0;     // problems without a loss
  std::optional<std::uint64_t> first_sequence_{};
  std::uint64_t last_sequence_ = 0;
  std::uint32_t last_family_ = 0;

  Log log_;                            // the current one
  std::uint64_t previous_number_ = 0;  // of the last log before it; 0: there is none
  bool is_previous_torn_ = false;      // that log ends inside a record
  NumberedLog empty_log_;  // the first of the last logs without records that must have some; without a name: none
  std::uint64_t next_sequence_ = 0;
  Transactions transactions_;
  LogChain chain_;

  bool is_numbering_known_ = false;
  bool is_numbered_otherwise_ = false;
  // The number after a batch whose marks may say another numbering, which the next batch decides.
  std::optional<std::uint64_t> doubtful_end_{};
};

// Replays logs in their order, numbering their writes as their database does. Fails as LogReplay::read().
Result<std::unique_ptr<LogReplay>> replay_logs(const RequestContext& context, OpenFiles& files,
                                               const std::vector<NumberedLog>& logs, const Options& options,
                                               LogReplay::Setup setup);

}  // namespace recordfs::database
