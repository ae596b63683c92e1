// LevelDB and RocksDB log files: write-ahead logs and MANIFESTs. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::leveldb_log {

extern const Format kFormat;

}  // namespace recordfs::leveldb_log
