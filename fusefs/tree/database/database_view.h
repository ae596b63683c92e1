// The live state of a LevelDB or RocksDB directory as the root of a mount.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/database/database.h"
#include "fusefs/tree/mirror/mirror.h"
#include "fusefs/tree/view.h"

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

// files/ is a node of the Mirror, which the database's root only names.
inline constexpr std::string_view kDatabaseFilesName = "files";
struct FilesDirectory {
  std::uint64_t number = 0;
  std::uint64_t inode = 0;  // 0: there is no files/
};

// Returns the nodes of keys/, history/ and info.json, whose functions block only as far as RequestContext permits.
// Those that read fail as the functions of Database do, and with stale_error() for a version that the database does not
// store any more.
std::shared_ptr<const NodeTree> database_nodes(DatabaseSource source, FilesDirectory files);

}  // namespace recordfs
