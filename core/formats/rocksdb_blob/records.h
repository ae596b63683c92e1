// The records of a blob file as recordfs shows them: the key and the decompressed value, each after its size.
// FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/rocksdb_blob/wire.h"

namespace recordfs::rocksdb_blob {

// Returns the codec's name of a compression, "-" if unknown. Static storage.
std::string_view codec_name(std::optional<std::uint8_t> compression);

// Returns the chunk of `stored`, which consists of records only. Records that cannot be read carry a failure, unless
// there is only one. `begin`: the file position of `stored`, for errors. Fails with kDamage, kUnsupported, kLimit and
// kOutOfMemory. Any thread.
Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, const Source& source,
                                                    const Wire& wire, Bytes stored, Position begin,
                                                    const Limits& limits);

// Returns a reader of a payload that is `front`, followed by what is stored from `value` on.
FileChunk::Read stored_after(std::string front, Position value);

}  // namespace recordfs::rocksdb_blob
