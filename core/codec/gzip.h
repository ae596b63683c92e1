// What both libraries that read gzip members have to know of one. Nothing outside this folder includes it.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/cursor.h"

namespace recordfs {

// Whether a member begins at the front of `rest` (RFC 1952, section 2.3.1), as far as its magic tells.
inline bool begins_gzip_member(Bytes rest) {
  constexpr std::uint16_t kMagic = 0x8B1F;
  Cursor cursor(rest);
  const std::uint16_t magic = cursor.u16_le();
  return cursor.ok() && magic == kMagic;
}

}  // namespace recordfs
