// Files with generated text: JSON and tab-separated tables; and the media type for user.mime_type. All functions are
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"
#include "core/store/container_info.h"
#include "core/store/record_store.h"

namespace recordfs {

// Returns info.json of a chunk. Verifies the chunk's checksums, which reads the chunk. Fails as container_info() does.
Result<std::string> chunk_info(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk);

// Returns the state of a chunk's checksums, as in its info.json: "good", "none" (the chunk has no checksums), "bad", or
// "unchecked" (the codec is missing or a limit was exceeded). Static storage. Reads the chunk. Fails as
// container_info() does.
Result<std::string_view> checksum_of(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk);

// Returns index/damage.tsv.
std::string damage_table(const std::vector<DamageRow>& damage);
// Returns a line of it, with `before` added to the ordinal.
std::string damage_row(const DamageRow& row, std::uint64_t before = 0);
// The names of its columns, and a newline.
inline constexpr std::string_view kDamageColumns = "begin\tend\tfirst_ordinal\trecords_lost\tclass\treason\n";

// How many of a file's first bytes media_type() needs.
inline constexpr std::size_t kBytesOfMediaType = 4096;

// Returns the media type of a file that starts with `first`: image/png, image/jpeg, application/gzip, application/zstd
// or application/x-sqlite3 by its signature. UTF-8 without control characters other than tab, CR and LF is text/plain;
// charset=utf-8, or application/json if it starts with { or [. Anything else is application/octet-stream. Unless
// `is_all`, the last character may be incomplete. Static storage.
std::string_view media_type(Bytes first, bool is_all);

}  // namespace recordfs
