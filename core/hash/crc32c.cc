#include "core/hash/crc32c.h"

#include <algorithm>

#include <isa-l/crc.h>

#include "core/hash/upper_registers.h"

namespace recordfs {
namespace {

// ISA-L takes lengths as int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

}  // namespace

std::uint32_t crc32c(Bytes bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    // ISA-L does not modify the buffer, but its parameter is not const.
    auto* begin = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    state = crc32_iscsi(begin, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  clear_upper_registers();
  return ~state;
}

}  // namespace recordfs
