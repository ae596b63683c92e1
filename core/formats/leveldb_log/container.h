// Opens LevelDB logs, also for formats that are built on them.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/head.h"

namespace recordfs::leveldb_log {

// Opens a log whose properties are known. Reads nothing.
std::unique_ptr<Container> open_log(std::shared_ptr<const Source> source, const Limits& limits, const Head& head);

// A log of a database.
struct DatabaseLog {
  std::unique_ptr<Container> container;
  Head head;
};

// Opens a log as its database reads it: if its name has a number, fragments of another log do not count. They are
// regions of class stale. Fails with kNoContainer if the log has no valid fragment, and as Source. Any thread.
Result<DatabaseLog> open_in_database(const RequestContext& context, std::shared_ptr<const Source> source,
                                     const Limits& limits);

}  // namespace recordfs::leveldb_log
