// The sizes of user-defined timestamps that a RocksDB log states.
#pragma once

#include <cstdint>
#include <map>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {

// By column family: how many bytes at the end of each key are a timestamp. RocksDB states no size of 0.
using TimestampSizes = std::map<std::uint32_t, std::uint16_t>;

// Adds the sizes that a log states from `begin` to before `end`. An item must begin at `begin`. Fails as Source. Any
// thread.
Result<void> read_timestamp_sizes(const RequestContext& context, const Source& log, const Session& session,
                                  Position begin, Position end, TimestampSizes& sizes);

}  // namespace recordfs::leveldb_log
