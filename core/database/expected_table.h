// Compares a table with the fields of its MANIFEST, so that another table in its place is noticed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/key_order.h"
#include "core/formats/leveldb_table/index.h"

namespace recordfs::database {

class Table;

// What the MANIFEST says of a table. Refers to bytes of the caller.
struct ExpectedTable {
  std::string_view smallest{}, largest{};  // internal keys; empty: not known
  std::string_view unique_id{};            // RocksDB's, as stored; empty: not stated
  std::string_view comparator{};           // of its family; empty: not known
};

// Returns the unique identifier that RocksDB computes from these properties, as its MANIFEST stores it; nullopt if one
// of them is absent or invalid. Any thread.
std::optional<std::string> unique_id_of(const leveldb_table::Properties& properties);

// Returns why a table is another one than its MANIFEST names; nullopt if nothing shows it. It must have the comparator
// of its family, except that timestamps may be enabled, and disabled if no key has one. Compares the identifiers.
// If there are none, reads the first and the last block, and compares their keys: RocksDB's as far as it neither
// changes them in an ingested table nor extends the range for deletions. `order` is that of the family's keys. Fails
// with failures that may pass, and as Source. Any thread.
Result<std::optional<Error>> compare_with_manifest(const RequestContext& context, const Source& source,
                                                   const Table& table, const ExpectedTable& expected,
                                                   const KeyOrder& order);

// Returns whether a table is certainly the one that the MANIFEST names: it has the identifier, or in LevelDB the first
// and the last key with their sequence numbers. Fails as compare_with_manifest(). Any thread.
Result<bool> is_named_table(const RequestContext& context, const Source& source, const Table& table,
                            const ExpectedTable& expected);

}  // namespace recordfs::database
