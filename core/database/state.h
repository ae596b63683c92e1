// The state of a database at one moment: its files, the writes of its logs, and what is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/directory.h"
#include "core/database/logged_writes.h"
#include "core/database/loss.h"
#include "core/database/manifest.h"
#include "core/database/options_file.h"
#include "core/database/problem_log.h"
#include "core/database/runs.h"
#include "core/database/sequence_ranges.h"
#include "core/database/table.h"

namespace recordfs::database {

// A family with its tables.
struct FamilyView {
  FamilyView() = default;
  // Takes the order from the comparator's name.
  explicit FamilyView(FamilyState of);

  FamilyState state;
  KeyOrder order;
  bool is_order_proved = true;  // the database names the comparator; if not, bytewise order is an assumption
  std::vector<Run> runs;

  // Returns whether a lookup may rely on the order of the keys in tables.
  bool can_seek() const { return order.is_known() && is_order_proved; }
};

// Immutable and thread-safe, except for its caches and its problems, which are thread-safe too.
class State {
 public:
  // Reads the state. `only`, if not empty: there are no other tables and logs than these. Fails like Database::open().
  static Result<std::shared_ptr<const State>> load(const RequestContext& context, const std::string& directory,
                                                   const Options& options,
                                                   const std::vector<DirectoryEntry>& only = {});

  const Options& options() const { return options_; }
  const FileSet& files() const { return files_; }
  // RocksDB's OPTIONS file; empty if there is none.
  const OptionsFile& options_file() const { return options_file_; }
  const LoggedWrites& logged() const { return *logged_; }
  // Returns null if there is no such family.
  const FamilyView* family(std::uint32_t id) const;
  const std::map<std::uint32_t, FamilyView>& families() const { return families_; }
  // Losses that are known without reading tables.
  const std::vector<Loss>& losses() const { return losses_; }
  // Returns whether there is no MANIFEST that can be used, so that all tables and logs count.
  bool is_recovered() const { return is_recovered_; }
  bool is_missing(const TableFile& table) const { return missing_.contains(table.number); }

  Summary summary() const;
  std::vector<File> list_files() const;
  std::vector<Problem> problems() const { return problems_->all(); }
  void report(Problem problem) const { problems_->add(std::move(problem)); }
  // Reports deletions of ranges in a file, or in all logs, that have no effect, if there are any.
  void report_ineffective(const std::string& file, std::size_t deletions) const;

  Age age_of(const TableFile& table) const;
  // Returns a sequence number that no write of a table exceeds, according to the MANIFEST; UINT64_MAX: unknown.
  std::uint64_t last_sequence_of(const TableFile& table) const;
  // Returns the name of the file with the table, after table() that in which it was found.
  std::string name_of(const TableFile& table) const;
  // Returns the name of a blob file; nullopt if the directory does not have it.
  std::optional<std::string> blob_name(std::uint64_t number) const;
  OpenFiles& open_files() const { return *open_files_; }

  // Returns a table; null if it is damaged, of an unsupported kind or missing, which is reported. Fails with failures
  // that may pass, and with kChanged or kIo if the file is gone.
  Result<std::shared_ptr<const Table>> table(const RequestContext& context, const TableFile& file) const;
  // Returns the loss of a whole table, or of the part in `part`.
  Loss loss_of(const TableFile& file, Loss part = {}) const;

 private:
  static constexpr std::size_t kMostSearched = 1024;  // files
  // Returns the table in another file of the directory that is the one that the MANIFEST names, and the file's name;
  // nullopt if there is none. Looks in kMostSearched files in all.
  using MovedTable = std::pair<std::string, std::shared_ptr<const Table>>;
  Result<std::optional<MovedTable>> find_moved(const RequestContext& context, const TableFile& file,
                                               const TableContext& about) const;

  friend class StateLoader;
  friend class LogLoader;
  explicit State(const Options& options)
      : options_(options), tables_(kMostTables, options.index_bytes), problems_(std::make_unique<ProblemLog>()) {}

  static constexpr std::size_t kMostTables = 4096;  // cached

  Options options_;
  std::string manifest_name_;
  bool is_recovered_ = false;
  std::vector<DirectoryEntry> listing_;
  std::map<std::uint64_t, std::string> table_names_, blob_names_;
  std::set<std::string> live_logs_;
  FileSet files_;
  OptionsFile options_file_;
  std::map<std::uint32_t, FamilyView> families_;
  std::unique_ptr<LoggedWrites> logged_;
  // Numbers of writes that were never committed.
  std::shared_ptr<const SequenceRanges> uncommitted_ = std::make_shared<const SequenceRanges>();
  std::vector<Loss> losses_;
  std::set<std::uint64_t> missing_;
  std::uint64_t last_sequence_ = 0;
  std::unique_ptr<OpenFiles> open_files_;
  mutable BoundedLru<std::uint64_t, std::shared_ptr<const Table>> tables_;
  std::unique_ptr<ProblemLog> problems_;
  mutable std::mutex mutex_;                            // guards the next
  mutable std::map<std::uint64_t, Code> failures_;      // by table: why it cannot be read
  mutable std::map<std::uint64_t, std::string> moved_;  // by table: the name of the file that has it
  mutable std::size_t searched_ = 0;                    // files in which find_moved() looked
};

}  // namespace recordfs::database
