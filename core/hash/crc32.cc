#include "core/hash/crc32.h"

#include <isa-l/crc.h>

#include "core/hash/upper_registers.h"

namespace recordfs {

std::uint32_t crc32(Bytes bytes, std::uint32_t previous) {
  const std::uint32_t crc =
      crc32_gzip_refl(previous, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  clear_upper_registers();
  return crc;
}

}  // namespace recordfs
