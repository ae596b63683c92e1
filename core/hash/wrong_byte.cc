#include "core/hash/wrong_byte.h"

#include <array>
#include <bit>

#include "core/hash/crc32c.h"

namespace recordfs {
namespace {

constexpr unsigned kByteValues = 256;
constexpr unsigned kByteBits = 8;

bool differ_in_one_byte(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t changed = a ^ b;
  const int lowest = std::countr_zero(changed) / static_cast<int>(kByteBits) * static_cast<int>(kByteBits);
  return changed != 0 && (changed >> lowest) < kByteValues;
}

// The change in a CRC for each change of one of the bytes, by the byte's distance from the last one. A CRC is linear: a
// given change always has the same effect.
struct Changes {
  std::array<std::array<std::uint32_t, kByteValues>, kMostCorrected> of{};

  Changes() {
    std::array<std::byte, kMostCorrected> bytes{};
    const std::uint32_t none = crc32c(bytes);
    for (std::size_t i = 0; i < kMostCorrected; ++i) {
      std::byte& changed = bytes[kMostCorrected - 1 - i];
      for (unsigned by = 0; by < kByteValues; ++by) {
        changed = static_cast<std::byte>(by);
        of[i][by] = crc32c(bytes) ^ none;
      }
      changed = std::byte{0};
    }
  }
};

}  // namespace

bool correct_one_byte(MutableBytes bytes, std::uint32_t stored, const std::function<bool()>& accept) {
  const std::uint32_t crc = crc32c(bytes);
  if (differ_in_one_byte(mask_crc(crc), stored) && accept()) return true;
  static const Changes kChanges;
  const std::uint32_t change = crc ^ unmask_crc(stored);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto& of_byte = kChanges.of[bytes.size() - 1 - i];
    for (unsigned by = 1; by < kByteValues; ++by) {
      if (of_byte[by] != change) continue;
      bytes[i] ^= static_cast<std::byte>(by);
      if (accept()) return true;
      bytes[i] ^= static_cast<std::byte>(by);
    }
  }
  return false;
}

}  // namespace recordfs
