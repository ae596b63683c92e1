// Opens LevelDB logs, also for formats that are built on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/assembly.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {

// Properties of a log from its head.
struct Head {
  // Evidence for a log in bits: a checksum's 32 plus type and length, fewer if the fragment was searched for.
  int bid = 0;
  Session session;
  Compression compression;
  Writer writer = Writer::kEither;
  bool number_in_name = false;           // the file's name has the session's log number, as RocksDB names its logs
  std::string_view content = "unknown";  // content of the first valid record, if that is cheap to find
};

// Opens a log whose properties are known. Reads nothing.
std::unique_ptr<Container> open_log(std::shared_ptr<const Source> source, const Limits& limits, const Head& head);

}  // namespace recordfs::leveldb_log
