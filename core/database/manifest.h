// The files and column families of a database's state, as its MANIFEST tells them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"

namespace recordfs::database {

// A table of the state.
struct TableFile {
  std::uint64_t number = 0;
  std::uint32_t family = 0;
  std::uint32_t level = 0;
  std::uint64_t size = 0;             // bytes
  std::string smallest{}, largest{};  // internal keys; of at least 8 bytes
  // Sequence numbers of its entries; nullopt: not stated.
  std::optional<std::uint64_t> smallest_sequence{}, largest_sequence{};
  std::uint64_t path = 0;         // number of the directory, of several; 0: the database's own
  std::uint64_t oldest_blob = 0;  // number of the oldest blob file that it refers to; 0: none
  bool lacks_timestamps = false;  // it was written without the user-defined timestamps of its family's keys
  FileChecksum checksum{};
  std::string unique_id{};  // as stored; empty: not stated

  bool operator==(const TableFile&) const = default;
};

struct FamilyState {
  Family family;
  std::uint64_t log_number = 0;       // writes in earlier logs are in tables already
  std::uint64_t least_timestamp = 0;  // user-defined; the database refuses to read as of smaller ones
  bool persists_timestamps = true;    // whether tables have the user-defined timestamps of keys, and not only logs
};

// The state.
struct FileSet {
  bool is_rocksdb = false;
  std::string database_id;
  std::map<std::uint32_t, FamilyState> families;
  std::map<std::uint64_t, TableFile> tables;
  std::set<std::uint64_t> removed_files;  // numbers of tables and blob files that are no part of the state any more
  struct BlobFile {
    std::uint32_t family = 0;
    std::uint64_t values = 0;
    std::uint64_t bytes = 0;    // of their records
    std::uint64_t garbage = 0;  // values that no key refers to any more
    FileChecksum checksum{};
  };
  std::map<std::uint64_t, BlobFile> blob_files;  // by number
  // RocksDB's logs that must exist, by number, with the bytes that were synchronized to disk; 0: not stated.
  std::map<std::uint64_t, std::uint64_t> tracked_logs;
  std::uint64_t last_sequence = 0;
  std::uint64_t previous_log = 0;  // LevelDB's; 0: none
  std::uint64_t least_log = 0;     // RocksDB's, for prepared transactions; 0: not stated
  std::uint64_t last_number = 0;   // a number that no file of the state exceeds
  // Where the MANIFEST ends inside an edit or a group of edits; nullopt: it does not.
  std::optional<Position> torn_at{};
  std::uint64_t last_family = 0;  // the largest number of a family, also of those that were dropped

  // Returns the number of the first log that is part of the state.
  std::uint64_t first_log() const;
  // Drops the blob files that are older than any that a table of their family refers to: the database deletes them
  // without an edit.
  void drop_unused_blob_files();
};

inline constexpr std::uint32_t kMostLevels = 65536;

struct Manifest {
  FileSet files;
  // What was found wrong. Empty: the MANIFEST is intact, up to an edit that was being written. Otherwise `files` is not
  // reliable.
  std::vector<Error> damage;
};

// Reads a MANIFEST. Fails with kNoContainer if it is not a log, with kLimit, and with failures that may pass.
Result<Manifest> read_manifest(const RequestContext& context, const std::shared_ptr<const Source>& source,
                               const Limits& limits);

}  // namespace recordfs::database
