// Shared by the zlib and libdeflate backends. Internal to this folder.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/cursor.h"

namespace recordfs {

// Returns whether `rest` begins with the gzip magic (RFC 1952, section 2.3.1).
inline bool begins_gzip_member(Bytes rest) {
  constexpr std::uint16_t kMagic = 0x8B1F;
  Cursor cursor(rest);
  const std::uint16_t magic = cursor.u16_le();
  return cursor.ok() && magic == kMagic;
}

}  // namespace recordfs
