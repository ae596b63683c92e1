// Opens LevelDB logs, also for formats that are built on them.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/head.h"

namespace recordfs::leveldb_log {

// Opens a log whose properties are known. Reads nothing.
std::unique_ptr<Container> open_log(std::shared_ptr<const Source> source, const Limits& limits, const Head& head);

}  // namespace recordfs::leveldb_log
