// DatabaseTree: the live state of a LevelDB or RocksDB directory as the root of a mount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bounded_lru.h"
#include "core/database/database.h"
#include "fusefs/tree/database/database_nodes.h"
#include "fusefs/tree/database/key_files.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/mirror/mirror.h"
#include "fusefs/tree/subtree.h"

namespace recordfs {

// A database directory as the source of a mount.
struct DatabaseSource {
  std::string name;         // of the directory
  MirroredDirectory files;  // the directory itself, which files/ shows
  std::shared_ptr<const database::Database> database;
  Ownership ownership;           // of everything but files/
  std::uint64_t filesystem = 0;  // as Source::filesystem()
  // Logs a problem of the database. May be null.
  std::function<void(const database::Problem&)> report{};
};

// keys/, history/ and info.json. files/ is a node of the Mirror, which this only names. Thread-safe. Functions block
// only as far as RequestContext permits. Those that read fail as the functions of Database do, and with stale_error()
// for a version that the database does not store any more.
class DatabaseTree final : public Subtree {
 public:
  // The number and the inode number of files/.
  struct Files {
    std::uint64_t number = 0;
    std::uint64_t inode = 0;
  };
  static constexpr std::string_view kFilesName = "files";

  DatabaseTree(DatabaseSource source, Files files);

  Result<Named> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name) override;
  void forget(std::uint64_t number, std::uint64_t lookups) override;
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number) override;
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                    const EmitEntry& emit) override;
  std::uint64_t inode(const RequestContext& context, std::uint64_t number) override;
  std::uint64_t parent_inode(const RequestContext& context, std::uint64_t directory) override;
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                     std::uint64_t length) override;
  std::string extended_names(const RequestContext& context, std::uint64_t number) override;
  Result<std::string> extended_attribute(const RequestContext& context, std::uint64_t number,
                                         std::string_view name) override;
  std::size_t known_nodes() const override { return nodes_.size(); }

 private:
  static constexpr std::size_t kReported = 65536;
  static constexpr std::size_t kValues = 64;
  static constexpr std::uint64_t kValueBytes = 16u << 20;

  // A directory of keys.
  struct Keys {
    database::Family family;
    bool is_history = false;
    bool is_in_families = false;
  };

  Result<std::uint64_t> lookup_number(const RequestContext& context, std::uint64_t directory, std::string_view name);
  std::optional<Keys> keys_of(std::uint64_t directory) const;
  bool has_families() const { return database_->families().size() > 1; }
  Result<std::uint64_t> lookup_top(std::string_view name);
  Result<std::uint64_t> lookup_family(std::string_view name, bool is_history) const;
  Result<std::uint64_t> lookup_key(const RequestContext& context, const Keys& in, std::string_view name);
  // Reads all keys of the family.
  Result<std::uint64_t> lookup_names(const RequestContext& context, const Keys& in);
  Result<std::uint64_t> lookup_version(const RequestContext& context, const DatabaseNode& in, std::string_view name);

  // Returns the value of a file in keys/ or history/. Fails like Database::get() and Database::version().
  Result<database::VersionedValue> read_value(const RequestContext& context, const DatabaseNode& of) const;

  Result<void> list_top(std::uint64_t place, const EmitEntry& emit) const;
  Result<void> list_families(bool is_history, std::uint64_t place, const EmitEntry& emit) const;
  Result<void> list_keys(const RequestContext& context, const Keys& in, std::uint64_t place, const EmitEntry& emit);
  Result<void> list_versions(const RequestContext& context, const DatabaseNode& of, std::uint64_t place,
                             const EmitEntry& emit) const;

  // Calls DatabaseSource::report for problems that it has not been called for, up to kReported.
  void report_problems();

  const std::shared_ptr<const database::Database> database_;
  const Ownership ownership_;
  const std::uint64_t filesystem_;
  const std::function<void(const database::Problem&)> report_;
  const Files files_;
  DatabaseNodes nodes_;
  KeyFiles keys_;
  BoundedLru<std::uint64_t, Slice> values_{kValues, kValueBytes};  // by node
  std::mutex mutex_;                                               // guards the next
  std::set<std::pair<std::string, std::string>> reported_;         // files and texts of problems
};

}  // namespace recordfs
