// The magics of recordio. One of them is shared by the current and the legacy format. FORMAT.md, "Which format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/bytes.h"

namespace recordfs::recordio {

// As a little-endian number of eight bytes, which is how they are read.
inline constexpr std::uint64_t kHeaderMagic = 0xf70416c25cd9e1d9;
inline constexpr std::uint64_t kPackedMagic = 0x2e3c0734eb47762e;  // current: body; legacy: packed record
inline constexpr std::uint64_t kTrailerMagic = 0x3a75dfcbd71abafe;
inline constexpr std::uint64_t kUnpackedMagic = 0x20bdd9f03195aefc;  // legacy alone

inline constexpr std::uint64_t kMagicSize = 8;

using Magics = std::span<const std::uint64_t>;

// The magic at the beginning of `bytes` if it is one of `magics`; nullopt: none is, or fewer than kMagicSize bytes are
// there. The following: any thread.
std::optional<std::uint64_t> magic_at(Bytes bytes, Magics magics);
// Whether `bytes`, fewer than kMagicSize of them, are the beginning of one of `magics`. None are the beginning of all.
bool is_cut_magic(Bytes bytes, Magics magics);
// Where the first of `magics` begins at or behind `from`; bytes.size() where none does.
std::size_t find_magic(Bytes bytes, std::size_t from, Magics magics);

}  // namespace recordfs::recordio
