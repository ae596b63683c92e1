// Uses libdeflate, which is several times as fast as other libraries. Built where it is found; otherwise crc.cc has the
// function.
#include "core/hash/adler32.h"

#include <libdeflate.h>

namespace recordfs {

std::uint32_t adler32(Bytes bytes, std::uint32_t previous) {
  // For no bytes the library may return the sum of nothing.
  return bytes.empty() ? previous : libdeflate_adler32(previous, bytes.data(), bytes.size());
}

}  // namespace recordfs
