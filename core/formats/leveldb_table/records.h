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

// Returns nullopt for bytes that are not a record.
std::optional<Record> parse_record(Bytes record);

}  // namespace recordfs::leveldb_table
