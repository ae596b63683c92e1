// The tail of a table: its footer, and the metadata to which that leads. Tables are opened here, for their records and
// for lookups of keys. FORMAT.md, "Index".
#pragma once

#include <memory>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// Returns the footer at the end of a file; nullopt if there is no magic. Fails as Source does. Any thread.
Result<std::optional<Footer>> read_footer(const RequestContext& context, const Source& source);

struct Tail {
  Dialect dialect;                                 // of all blocks, without the dictionary
  MetaBlocks blocks;                               // none if the meta index cannot be read
  BlockPlace index;                                // of the blocks; of the first level if it has two
  Properties properties;                           // defaults if there are none, or if they cannot be read
  std::shared_ptr<const Dictionary> dictionary{};  // of data blocks, or why it cannot be read; null: there is none
  // Why the meta index or the properties cannot be read; nullopt: they can.
  std::optional<Error> flaw;

  Dialect dialect_of_data() const;  // with the dictionary
};

// Reads the meta index, the properties and the dictionary of a table with this footer. Fails with the footer's flaw,
// with kDamage if nothing names an index, with failures that may pass, and as Source does. Any thread.
Result<Tail> read_tail(const RequestContext& context, const Source& source, const Footer& footer, const Limits& limits);

}  // namespace recordfs::leveldb_table
