// The byte-level structure of proio streams: bucket headers and event lengths. FORMAT.md, "Bucket".
#pragma once

#include <array>
#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs::proio {

// Every bucket begins with these 16 bytes. No proper suffix of them is a prefix, so two magics cannot overlap.
inline constexpr std::array<std::byte, 16> kMagic{std::byte{0xE1}, std::byte{0xC1}};
inline constexpr std::size_t kHeaderSizeSize = 4;
// The magic and the size of the header.
inline constexpr std::size_t kPreambleSize = kMagic.size() + kHeaderSizeSize;
// The little-endian length before each event of a payload.
inline constexpr std::size_t kEventLengthSize = 4;

// BucketHeader.CompType; other numbers are possible.
inline constexpr std::uint32_t kCompressionNone = 0;
inline constexpr std::uint32_t kCompressionGzip = 1;
inline constexpr std::uint32_t kCompressionLz4 = 2;
inline constexpr std::uint32_t kCompressionLzma = 3;

// Field numbers of BucketHeader and of the entries of its map.
namespace header_field {
inline constexpr std::uint32_t kEvents = 1;
inline constexpr std::uint32_t kBucketSize = 2;
inline constexpr std::uint32_t kCompression = 3;
inline constexpr std::uint32_t kFileDescriptor = 5;
inline constexpr std::uint32_t kMetadata = 7;
}  // namespace header_field

namespace map_field {
inline constexpr std::uint32_t kKey = 1;
inline constexpr std::uint32_t kValue = 2;
}  // namespace map_field

// Field numbers of Event and of its messages.
namespace event_field {
inline constexpr std::uint32_t kTag = 1;    // map<string, Tag>
inline constexpr std::uint32_t kEntry = 3;  // map<uint64, Any>
inline constexpr std::uint32_t kType = 5;   // map<uint64, string>
inline constexpr std::uint32_t kTagEntry = 1;
inline constexpr std::uint32_t kAnyType = 1;
inline constexpr std::uint32_t kAnyPayload = 2;
}  // namespace event_field

}  // namespace recordfs::proio
