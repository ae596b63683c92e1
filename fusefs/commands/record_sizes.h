// The sizes of records, without their bytes where the format permits it.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/commands/report/size_histogram.h"

namespace recordfs {

// Returns the positions of a chunk's records, and avoids decoding the chunk if the format can. Fails as
// ChunkReader::layout() and ChunkReader::decode_uncached(). Thread-safe.
Result<std::shared_ptr<const Layout>> layout_of(const RequestContext& context, const RecordStore& store,
                                                const ChunkInfo& chunk);

// Returns the sizes of all records that can be read. Uses `threads`, the calling one included. Fails as read_part()
// does.
Result<SizeHistogram> sizes_of(const RecordStore& store, unsigned threads);

}  // namespace recordfs
