// Tables of LevelDB, and of RocksDB's block-based kind. FORMAT.md.
#pragma once

#include <memory>

#include "core/formats/leveldb_table/survey.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_table {

extern const Format kFormat;

// Opens a table of which survey() has found `found`. Any thread.
std::unique_ptr<Container> open_surveyed(std::shared_ptr<const Source> source, const Limits& limits, Survey found);

}  // namespace recordfs::leveldb_table
