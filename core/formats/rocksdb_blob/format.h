// Blob files of RocksDB, which hold the values that it stores apart from their keys. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::rocksdb_blob {

extern const Format kFormat;

}  // namespace recordfs::rocksdb_blob
