// The live state of a LevelDB or RocksDB directory: what the database itself would return for each key, and every
// version of a key that is still stored.
//
// Takes no LOCK and writes nothing, so the database may be in use. README.md has the guarantees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/location.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"

struct stat;

namespace recordfs::database {

// A column family. LevelDB's databases have one: number 0, "default".
struct Family {
  std::uint32_t id = 0;
  std::string name{};        // "default", ...; empty if only the number is known
  std::string comparator{};  // "leveldb.BytewiseComparator", ...; empty if unknown
  // Whether recordfs knows the comparator. If not, iteration follows the order of files, not of keys, and range
  // deletions have no effect.
  bool is_ordered = true;
  // Whether writes have user-defined timestamps. They are no part of the keys, and a key has the value of its largest
  // one.
  bool has_timestamps = false;
};

// What a write did to a key.
enum class Operation : std::uint8_t {
  kPut,        // sets the value
  kPutEntity,  // sets the columns of a wide-column entity, of which the default one is the value
  kMerge,      // merges an operand into the older value
  kDelete,
  kSingleDelete,
  kDeleteRange,  // deletes a range that contains the key
  kUnknown,      // a later version's operation, which recordfs cannot interpret
};

// Returns "put", "put_entity", "merge", "delete", "single_delete", "delete_range", "unknown". Static storage.
std::string_view to_string(Operation operation);
// Returns whether the key has no value after it.
constexpr bool deletes(Operation operation) {
  return operation == Operation::kDelete || operation == Operation::kSingleDelete ||
         operation == Operation::kDeleteRange;
}

// One stored write of a key.
struct Version {
  std::uint64_t sequence = 0;
  Operation operation = Operation::kPut;
  // A newer write may have been lost to damage, so this may be an older state of the key.
  bool may_be_stale = false;
  // Of history(): damage, or a part that recordfs cannot read, may have cost other versions of the key.
  bool may_lack_others = false;
  // kUnsupported or kLimit if a newer write may be in a part of the database that is intact, but that recordfs cannot
  // read. Then reading the value of the key fails with this code.
  std::optional<Code> unread{};
  bool is_in_blob_file = false;  // the value is in a blob file
  // Bytes of the value, or of the operand; of kDeleteRange, of the range's end. nullopt if only reading the value tells
  // it. 0 for the other deletions.
  std::optional<std::uint64_t> size{};
  std::string file{};                        // the table or log with this write, by its name in the directory
  std::optional<std::uint64_t> timestamp{};  // user-defined; nullopt: none, or not stored
};

// A column of a wide-column entity.
struct Column {
  std::string name{};  // empty: the default column
  Slice value{};
};

// A version with its value: the value of kPut, the default column of kPutEntity, which is empty if there is none, the
// operand of kMerge, the end of the range of kDeleteRange; empty for the other deletions.
struct VersionedValue {
  Version version;
  Slice value;
};

// A file of the database that is missing, damaged or unexpected, or other news of that kind.
struct Problem {
  std::string file{};  // its name in the directory; empty: the database as a whole
  Error error{};
  // Whether keys or newer values may be lost by it. False for what costs nothing, such as a torn end of the last log.
  bool loses_data = true;
};

enum class FileKind : std::uint8_t { kCurrent, kManifest, kTable, kLog, kBlob, kOther };
// Returns "current", "manifest", "table", "log", "blob", "other". Static storage.
std::string_view to_string(FileKind kind);

// A checksum of a whole file. RocksDB stores it in the MANIFEST if it is opened with a function for it.
struct FileChecksum {
  std::string function{};  // "FileChecksumCrc32c", ...; empty: there is none
  std::string value{};     // as the function returned it

  bool operator==(const FileChecksum&) const = default;
};

// A file of the directory, or one that the MANIFEST names.
struct File {
  enum class State : std::uint8_t {
    kLive,      // part of the state
    kMissing,   // the MANIFEST names it, and the directory does not have it
    kObsolete,  // an old file that the database has not deleted yet
    kOther,     // LOCK, LOG, OPTIONS-000007, ...
  };
  std::string name{};
  FileKind kind = FileKind::kOther;
  State state = State::kOther;
  std::uint64_t number = 0;                      // 0: none
  std::uint64_t size = 0;                        // in the directory; of a missing file, according to the MANIFEST
  std::optional<std::uint64_t> expected_size{};  // of tables, according to the MANIFEST
  std::uint32_t family = 0;                      // of tables
  std::uint32_t level = 0;                       // of live tables
  FileChecksum checksum{};                       // of tables and blob files, according to the MANIFEST
};

// Facts about the state, for info.json.
struct Summary {
  std::string engine{};    // "LevelDB" or "RocksDB"
  std::string manifest{};  // its name; empty: the state comes from all tables and logs
  std::uint64_t last_sequence = 0;
  std::uint64_t logged_writes = 0;               // operations of the live logs
  std::string database_id{};                     // RocksDB's; empty: none
  std::vector<std::uint64_t> tables_by_level{};  // live tables, of all families together
  std::uint64_t blob_files = 0;

  bool is_recovered() const { return manifest.empty(); }
};

struct Options {
  Limits limits{};
  std::size_t open_files = 64;                              // descriptors that are kept open
  std::uint64_t index_bytes = std::uint64_t{64} << 20;      // cached indexes and filters of tables
  std::uint64_t log_value_bytes = std::uint64_t{64} << 20;  // values of logs kept in memory; others are read again
  std::uint64_t log_key_bytes = std::uint64_t{512} << 20;   // keys of logs; opening fails with kLimit beyond
  // The users' keys that will be looked up; empty: any. Of the logs, only their writes are kept then.
  std::set<std::string, std::less<>> only_keys{};
  // The directory of the write-ahead logs; empty: the one that RocksDB's OPTIONS file names, or the database's own.
  std::string wal_directory{};
  // Further directories with tables and blob files (RocksDB's db_paths).
  std::vector<std::string> table_directories{};
  // Most files of a state that are kept open; nullopt: half of the descriptors that the process may have. If the state
  // has more, none is, and the database can remove them.
  std::optional<std::size_t> pinned_files{};
  // Whether a Database may take a newer state after it has answered, if files of its state are gone. If not, calls fail
  // with kChanged then.
  bool follows_changes = false;
  // Returns whether an open file may be read; null: all may. Thread-safe.
  std::function<bool(const struct stat& status)> admits{};
};

// Keys of an iteration: those at or after `from`, and before `to`, in the order of the family's comparator. If
// `prefix` is not empty, only keys that begin with it.
struct KeyRange {
  std::string from{};               // empty: from the first one
  std::optional<std::string> to{};  // nullopt: to the end
  std::string prefix{};
};

inline constexpr std::uint64_t kNewest = UINT64_MAX;

// What a reader sees: writes with sequence numbers up to `sequence` and, if the family has user-defined timestamps,
// with timestamps up to `timestamp`.
struct Snapshot {
  Snapshot(std::uint64_t up_to_sequence = kNewest, std::uint64_t up_to_timestamp = kNewest)
      : sequence(up_to_sequence), timestamp(up_to_timestamp) {}

  std::uint64_t sequence;
  std::uint64_t timestamp;
};

// Iterates over the keys that have a value, or a merge operand. One thread. Keeps one block of each sorted run of
// tables in memory.
class KeyIterator {
 public:
  virtual ~KeyIterator() = default;

  // Advances to the next key; the first call to the first one. Returns false after the last key. Damage is no error: it
  // costs keys, becomes a Problem, and marks what it may have made stale. Fails with kIo, kOutOfMemory, kInterrupted,
  // kLimit; a repeated call continues. Fails for good with kChanged if the database has replaced files of the state.
  virtual Result<bool> next(const RequestContext& context) = 0;

  // Of the current key. Valid until the next call of next(). REQUIRES: the last next() returned true.
  virtual Bytes key() const = 0;
  virtual const Version& version() const = 0;
  // Returns the value. Fails with kUnsupported for an unknown operation and for a merge by an operator that recordfs
  // does not have, with Version::unread, with kDamage if its blob file is damaged or missing, and like next().
  virtual Result<Slice> value(const RequestContext& context) const = 0;
  // Returns the columns by name if the value is that of an entity, or merged with one; otherwise none. Fails like
  // value().
  virtual Result<std::vector<Column>> columns(const RequestContext& context) const = 0;
};

// An open database. Const and thread-safe.
//
// The state is that of one moment. Its files stay open, so that the database may remove them. If there are more than
// Options::pinned_files, calls that need a removed one fail with kChanged: the database is in use, and another attempt
// may succeed. With Options::follows_changes, later calls return the present state instead.
class Database {
 public:
  virtual ~Database() = default;

  // Opens the database in `directory`: reads CURRENT, the MANIFEST and the live logs; tables only when they are needed.
  // Without a usable MANIFEST, the state comes from all tables and logs by sequence number (Summary::is_recovered()).
  // Fails with kNoContainer if the directory has neither a MANIFEST nor tables and logs, with kChanged if the database
  // replaces its files faster than they can be read, with kIo, kOutOfMemory, kInterrupted, and with kLimit.
  static Result<std::unique_ptr<const Database>> open(const RequestContext& context, const std::string& directory,
                                                      const Options& options = {});

  // Opens logs, tables and blob files, whatever their names, as a database without a MANIFEST that has no others.
  // `names` are relative to `directory`, and each is there once. Of two writes of a key with the same sequence number,
  // that in the file with the last name counts. Values in blob files are read from `directory`. The keys of blob files
  // count only if there is no log or table. Fails with kNoContainer if a file
  // is of another kind, and like open(); the detail of an error about one of several files begins with its name.
  static Result<std::unique_ptr<const Database>> open_files(const RequestContext& context, const std::string& directory,
                                                            const std::vector<std::string>& names,
                                                            const Options& options = {});
  // Opens one log, table or blob file.
  static Result<std::unique_ptr<const Database>> open_file(const RequestContext& context, const std::string& path,
                                                           const Options& options = {});
  // Opens one log, table or blob file that is open already. `name` is its name, without a directory; it tells the
  // number of a log. No other file is read, so values in blob files of a table or log are missing.
  static Result<std::unique_ptr<const Database>> open_source(const RequestContext& context,
                                                             std::shared_ptr<const Source> source,
                                                             const std::string& name, const Options& options = {});

  virtual Summary summary() const = 0;
  // Returns the column families by number. At least one.
  virtual std::vector<Family> families() const = 0;
  // Returns the files of the directory and those that are missing from it, by name.
  virtual std::vector<File> files() const = 0;
  // Returns what was found wrong so far: at open, and in the tables that were read since. Bounded.
  virtual std::vector<Problem> problems() const = 0;

  // Returns the newest version of a key that `at` sees, with the value of the key: for kMerge, the result
  // of the merge. Fails with kNotFound if there is none or it is a deletion; with kDamage, kUnsupported or kLimit if
  // there is none but it may be in what is damaged or what recordfs cannot read; and like KeyIterator::value().
  virtual Result<VersionedValue> get(const RequestContext& context, std::uint32_t family, Bytes key,
                                     const Snapshot& at = {}) const = 0;

  // Returns the columns of the value that get() returns, by name, if that is an entity's, or merged with one; otherwise
  // none. Fails like get().
  virtual Result<std::vector<Column>> value_columns(const RequestContext& context, std::uint32_t family, Bytes key,
                                                    const Snapshot& at = {}) const = 0;

  // Returns what get() merges for kMerge, oldest first: the value before the operands, if there is one, and the
  // operands. For another operation, returns the value alone. Needs no merge operator. Fails otherwise like get().
  virtual Result<std::vector<VersionedValue>> operands(const RequestContext& context, std::uint32_t family, Bytes key,
                                                       const Snapshot& at = {}) const = 0;

  // Returns all stored versions of a key, newest first (with timestamps: the largest first), including deletions and
  // the deletions of ranges that contain it. If others may be lost, Version::may_lack_others is true. Fails with
  // kNotFound if there is none (kDamage if damage may have cost it), with kLimit if there are more than
  // Limits::parts_per_record, and with kIo, kOutOfMemory, kInterrupted.
  virtual Result<std::vector<Version>> history(const RequestContext& context, std::uint32_t family,
                                               Bytes key) const = 0;

  // Returns the version of a key with exactly this sequence number, as history() lists it. If there are several,
  // returns the one that history() lists first. Fails with kNotFound, and like KeyIterator::value() except for merge
  // operands, which it returns.
  virtual Result<VersionedValue> version(const RequestContext& context, std::uint32_t family, Bytes key,
                                         std::uint64_t sequence) const = 0;

  // Returns the columns of the version that version() returns, by name, if that is kPutEntity; none of another
  // operation. Fails like version().
  virtual Result<std::vector<Column>> columns(const RequestContext& context, std::uint32_t family, Bytes key,
                                              std::uint64_t sequence) const = 0;

  // Returns the keys of a range in order that have a value for `at`. Reads nothing before next(). The iterator may
  // outlive the Database. If the family's comparator is unknown, returns them in file order, and compares `from` and
  // `to` bytewise.
  virtual std::unique_ptr<KeyIterator> keys(std::uint32_t family, KeyRange range, const Snapshot& at = {}) const = 0;

  // Calls a function for each number below `count`, on any threads. Returns after the last call.
  using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t number)>& call)>;

  // Reads the indexes of all tables, by `for_each` or, if that is empty, one at a time. Then problems() has what
  // is wrong with tables as a whole. Fails with kIo and kOutOfMemory after all others were read, with kInterrupted, and
  // with kChanged if files of the state are gone.
  virtual Result<void> open_tables(const RequestContext& context, const ForEach& for_each) const = 0;

  // Takes the present state of the directory, if it has changed. Fails like open(); then the state remains.
  virtual Result<void> refresh(const RequestContext& context) const = 0;
};

// Returns whether this is a directory that looks like a database: it has a MANIFEST, or two of CURRENT, OPTIONS files,
// and tables or logs. Fails with kIo and kOutOfMemory.
Result<bool> is_database(const Location& directory);

}  // namespace recordfs::database
