// The tail of a table: its footer, and the metadata to which that leads. FORMAT.md, "Index".
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
  Dialect dialect;        // of all blocks, without the dictionary
  MetaBlocks blocks;      // none if the meta index cannot be read
  BlockPlace index;       // of the blocks; of the first level if it has two
  Properties properties;  // defaults if there are none, or if they cannot be read
  // Why the meta index or the properties cannot be read; nullopt: they can.
  std::optional<Error> flaw;
};

// Reads the meta index and the properties of a table with this footer. Fails with the footer's flaw, with kDamage if
// nothing names an index, with failures that may pass, and as Source does. Any thread.
Result<Tail> read_tail(const RequestContext& context, const Source& source, const Footer& footer, const Limits& limits);

// Returns the dictionary of a table, or why it cannot be read; null if it has none. Fails with failures that may pass.
// Any thread.
Result<std::shared_ptr<const Dictionary>> read_dictionary(const RequestContext& context, const Source& source,
                                                          const Tail& tail, const Limits& limits);

}  // namespace recordfs::leveldb_table
