// Databases that the words of a data set name.
#pragma once

#include <memory>
#include <string>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

struct DatabaseFiles {
  std::string directory;  // of the files that its problems name
  Result<std::unique_ptr<const database::Database>> database;
};

// Opens the logs and tables of a data set as one database. Missing shards are left out. Fails as
// Database::open_files(). Thread-safe.
DatabaseFiles open_database(const RequestContext& context, const ShardList& list, const database::Options& options);

}  // namespace recordfs
