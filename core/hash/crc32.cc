#include "core/hash/crc32.h"

#include <isa-l/crc.h>

namespace recordfs {

std::uint32_t crc32(Bytes bytes, std::uint32_t previous) {
  return crc32_gzip_refl(previous, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace recordfs
