#include <algorithm>
#include <cstring>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#if defined(RECORDFS_HASH_X86)
#include <nmmintrin.h>
#endif

#include "core/hash/adler32.h"
#include "core/hash/crc32.h"
#include "core/hash/crc32c.h"
#include "core/hash/instruction_sets.h"

namespace recordfs {
namespace {

template <class Number>
[[maybe_unused]] Number load(const std::byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

// ISA-L takes lengths as int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

// Clears the upper halves of the vector registers, which ISA-L uses and does not clear. Otherwise every later SSE
// instruction depends on the old register content. That doubles the time of a scan over short records.
#if defined(RECORDFS_HASH_X86)
[[gnu::target("avx")]] inline void zero_upper_halves() { __builtin_ia32_vzeroupper(); }

// Call after each ISA-L call. Does nothing on processors without AVX.
void clear_upper_registers() {
  static const bool has_them = instruction_sets().avx;
  if (has_them) zero_upper_halves();
}

// Up to this size, the processor's own instruction takes less time than the start of ISA-L's function.
constexpr std::size_t kShort = 192;

[[gnu::target("sse4.2")]] std::uint32_t crc32c_of_short(Bytes bytes, std::uint32_t state) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = state;
  for (; left >= sizeof(std::uint64_t); at += sizeof(std::uint64_t), left -= sizeof(std::uint64_t)) {
    wide = _mm_crc32_u64(wide, load<std::uint64_t>(at));
  }
  state = static_cast<std::uint32_t>(wide);
  if (left >= sizeof(std::uint32_t)) {
    state = _mm_crc32_u32(state, load<std::uint32_t>(at));
    at += sizeof(std::uint32_t);
    left -= sizeof(std::uint32_t);
  }
  for (; left > 0; ++at, --left) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(*at));
  return state;
}

bool is_short(Bytes bytes) {
  static const bool has_instruction = instruction_sets().sse42;
  return bytes.size() <= kShort && has_instruction;
}
#else
void clear_upper_registers() {}
bool is_short(Bytes) { return false; }
std::uint32_t crc32c_of_short(Bytes, std::uint32_t state) { return state; }
#endif

}  // namespace

std::uint32_t crc32(Bytes bytes, std::uint32_t previous) {
  const std::uint32_t crc =
      crc32_gzip_refl(previous, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  clear_upper_registers();
  return crc;
}

#ifndef RECORDFS_ADLER32_BY_LIBDEFLATE
std::uint32_t adler32(Bytes bytes, std::uint32_t previous) {
  const std::uint32_t sum = isal_adler32(previous, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  clear_upper_registers();
  return sum;
}
#endif

std::uint32_t crc32c(Bytes bytes, std::uint32_t previous) {
  if (is_short(bytes)) return ~crc32c_of_short(bytes, ~previous);
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
