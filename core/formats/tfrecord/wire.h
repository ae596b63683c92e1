// The frame around each record: a length and its checksum before the data, a checksum after it. FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace recordfs::tfrecord {

inline constexpr std::uint64_t kHeaderSize = 12;  // the length and its checksum
inline constexpr std::uint64_t kFooterSize = 4;   // the checksum of the data
inline constexpr std::uint64_t kFrameSize = kHeaderSize + kFooterSize;

// Returns the length in a record's header; nullopt if its checksum does not match or `header` is shorter than
// kHeaderSize. Any thread.
std::optional<std::uint64_t> sound_length(Bytes header);

// Returns the length of a header whose checksum does not match, but would with one other byte in the length or the
// checksum. Returns nullopt if no such length is at most `most`. Any thread.
std::optional<std::uint64_t> corrected_length(Bytes header, std::uint64_t most);

// Returns whether `footer` is the checksum of data with the CRC-32C `crc`. Any thread.
bool footer_matches(Bytes footer, std::uint32_t crc);

}  // namespace recordfs::tfrecord
