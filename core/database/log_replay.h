// Replays write-ahead logs, as a database does when it is opened.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/directory.h"
#include "core/database/log_records.h"
#include "core/database/logged_writes.h"
#include "core/database/loss.h"
#include "core/formats/leveldb_log/content.h"

namespace recordfs::database {

// One thread.
class LogReplay final : private LogVisitor {
 public:
  // `first_logs`: for each family, the number of the first log whose writes count; writes of other families do not
  // count. nullopt: those of all families count.
  using FirstLogs = std::optional<std::map<std::uint32_t, std::uint64_t>>;
  struct Setup {
    FirstLogs first_logs{};
    // The sequence number after which the logs must continue without a gap, which is a loss. nullopt: gaps mean
    // nothing.
    std::optional<std::uint64_t> last_before{};
    bool are_files_alone = false;  // the logs were named one by one, and are not those of a directory
  };
  LogReplay(const Options& options, Setup setup);

  // Replays one log. Call in the order of the logs. Damage becomes problems and losses. Fails with kLimit, with
  // kChanged or kIo if the file is gone, and with other failures that may pass.
  Result<void> read(const RequestContext& context, OpenFiles& files, const std::string& name, std::uint64_t number);

  // Results, after the last log.
  LoggedWrites& writes() { return writes_; }
  std::vector<Problem>& problems() { return problems_; }
  std::vector<Loss>& losses() { return losses_; }
  // Of the writes; nullopt: there are none.
  std::optional<std::uint64_t> first_sequence() const { return first_sequence_; }
  std::uint64_t last_sequence() const { return last_sequence_; }
  // The largest number of a family that has writes, whether they count or not.
  std::uint32_t last_family() const { return last_family_; }

 private:
  using Pending = LoggedWrites::Pending;
  using Section = std::vector<Pending>;

  Result<void> take_record(const RecordPlace& place, Bytes record) override;
  void take_damage(const DamagedRegion& region) override;
  Result<void> take_operation(const leveldb_log::BatchOperation& operation, const RecordPlace& place, Bytes record);
  Result<void> take_write(const leveldb_log::BatchOperation& operation, const RecordPlace& place, Bytes record);
  Result<void> prepare(const std::string& transaction);
  Result<void> commit(const std::string& transaction);
  Result<void> add(const Pending& write);
  bool counts(std::uint32_t family) const;
  void drop(const Section& section);
  void lose(const Error& error);
  void end_losses();
  void check_gap(std::uint64_t start, Position at);

  const Setup setup_;
  LoggedWrites writes_;
  std::vector<Problem> problems_;
  std::vector<Loss> losses_;
  std::size_t open_losses_ = 0;  // the last ones, which no record follows yet
  std::optional<std::uint64_t> first_sequence_{};
  std::uint64_t last_sequence_ = 0;
  std::uint32_t last_family_ = 0;

  std::string name_;  // of the current log
  std::uint64_t number_ = 0;
  std::uint32_t log_ = 0;
  std::uint64_t next_sequence_ = 0;
  bool in_section_ = false;
  Section section_;
  std::map<std::string, Section> prepared_;
  std::uint64_t prepared_bytes_ = 0;
};

}  // namespace recordfs::database
