// Writes tables of LevelDB and RocksDB. FORMAT.md, "What is written".
//
// A record is an entry, in the form in which a reader of tables returns it. The caller gives the entries in the order
// of the database's comparator.
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::leveldb_table {

extern const FileWriter kWriter;

}  // namespace recordfs::leveldb_table
