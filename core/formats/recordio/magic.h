// The magics of recordio. One of them is shared by the current and the legacy format. FORMAT.md, "Which format".
#pragma once

#include <cstdint>

namespace recordfs::recordio {

// As a little-endian number of eight bytes, which is how they are read.
inline constexpr std::uint64_t kHeaderMagic = 0xf70416c25cd9e1d9;
inline constexpr std::uint64_t kPackedMagic = 0x2e3c0734eb47762e;  // current: body; legacy: packed record
inline constexpr std::uint64_t kTrailerMagic = 0x3a75dfcbd71abafe;
inline constexpr std::uint64_t kUnpackedMagic = 0x20bdd9f03195aefc;  // legacy alone

inline constexpr std::uint64_t kMagicSize = 8;

}  // namespace recordfs::recordio
