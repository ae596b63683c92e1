// The frame around each record: a length and its checksum before the data, a checksum after it. FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/resync.h"

namespace recordfs::tfrecord {

inline constexpr std::uint64_t kHeaderSize = 12;  // the length and its checksum
inline constexpr std::uint64_t kFooterSize = 4;   // the checksum of the data
inline constexpr std::uint64_t kFrameSize = kHeaderSize + kFooterSize;

// Returns the length in a record's header; nullopt if its checksum does not match or `header` is shorter than
// kHeaderSize. Any thread.
std::optional<std::uint64_t> sound_length(Bytes header);

// Returns whether `footer` is the checksum of data with the CRC-32C `crc`. Any thread.
bool footer_matches(Bytes footer, std::uint32_t crc);

// Returns a reader of record headers, from windows that suit the distances between them.
inline WindowedReader header_reader(const Source& source) { return {source, 512, 64u << 10}; }

// Returns whether the `length` bytes of data at `begin` match the checksum after them; reads in pieces. Also false if
// the source ends first. Fails as Source does.
Result<bool> is_sound(const RequestContext& context, const Source& source, Position begin, std::uint64_t length);

// Finds the first record at or after `from` whose length and data both match their checksums. Reads about `budget`
// bytes, and the data of the record that it finds. Fails as Source does. Any thread.
Result<ResyncResult> search(const RequestContext& context, const Source& source, Position from, std::uint64_t budget);

// Returns the end of the record at `at`, whose header does not match its checksum. The end is known if one byte of
// the header is wrong, and a record, the file's end or matching data confirm it; otherwise nullopt. Fails as Source
// does. Any thread.
Result<std::optional<Position>> end_of_damaged(const RequestContext& context, const Source& source, Position at);

// Detects deleted bytes in the record at `at`, whose header is valid, but after whose end at `end` there is no
// header. Returns the first record inside it from which records continue past `end`. Returns nullopt if its length
// appears to be right. Fails as Source does. Any thread.
Result<std::optional<Position>> cut_short_at(const RequestContext& context, const Source& source, Position at,
                                             Position end);

}  // namespace recordfs::tfrecord
