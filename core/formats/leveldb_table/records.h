// Records made of a block's entries. A block may store a part of an entry's key; a record has the whole key, in the
// form in which the database keeps entries in memory. FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_table {

// Returns the layout of the records of a block with this content. Bytes that are not an entry are one failed record
// of one byte, up to the next restart point. `begin` is the block's position, for errors. Fails with kDamage if the
// content is not a block of entries, and with kLimit.
Result<Layout> layout_records(const RequestContext& context, Bytes content, Position begin, const Dialect& dialect,
                              const Limits& limits);

// Returns the records. Fails as layout_records() does, and with kOutOfMemory.
Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, Bytes content, Position begin,
                                                    const Dialect& dialect, const Limits& limits);

// The fields of a record.
struct Record {
  Bytes key;
  Bytes value;
};

// `has_database_keys`: whether keys are internal keys of a database; other keys are shown unchanged. Both fail with
// kDamage if the bytes are not a record. Any thread.
Result<Value> value_of(Bytes record, bool has_database_keys);
// `family` is the table's column family.
Result<void> change_of(Bytes record, bool has_database_keys, std::uint32_t family, const TakeKeyChange& take);

}  // namespace recordfs::leveldb_table
