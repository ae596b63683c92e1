// Writes tables of LevelDB and RocksDB. FORMAT.md, "What is written".
//
// A record is an entry, in the form in which a reader of tables returns it. The caller gives the entries in the order
// of the database's comparator.
#pragma once

#include <string>

#include "core/formats/leveldb_table/written_properties.h"
#include "core/formats/record_writer.h"

namespace recordfs::leveldb_table {

extern const FileWriter kWriter;

// Returns WriterOptions::stored_metadata of a table of RocksDB that has these properties besides those that count.
// Thread-safe.
std::string rocksdb_metadata(const PropertyMap& properties);

}  // namespace recordfs::leveldb_table
