#include "core/formats/tfrecord/wire.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/base/cursor.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::size_t kLengthSize = 8;
constexpr unsigned kByteValues = 256;
constexpr unsigned kByteBits = 8;

std::uint32_t stored_checksum(Bytes header) { return Cursor(header.subspan(kLengthSize)).u32_le(); }

std::uint32_t checksum_of(Bytes length) { return mask_crc(crc32c(length)); }

bool differ_in_one_byte(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t changed = a ^ b;
  const int lowest = std::countr_zero(changed) / static_cast<int>(kByteBits) * static_cast<int>(kByteBits);
  return changed != 0 && (changed >> lowest) < kByteValues;
}

// The change in the checksum of a length for each change of one of its bytes.
struct Changes {
  std::array<std::array<std::uint32_t, kByteValues>, kLengthSize> of{};

  Changes() {
    std::array<std::byte, kLengthSize> length{};
    const std::uint32_t none = crc32c(length);
    for (std::size_t i = 0; i < kLengthSize; ++i) {
      for (unsigned by = 0; by < kByteValues; ++by) {
        length[i] = static_cast<std::byte>(by);
        of[i][by] = crc32c(length) ^ none;
      }
      length[i] = std::byte{0};
    }
  }
};

}  // namespace

std::optional<std::uint64_t> sound_length(Bytes header) {
  if (header.size() < kHeaderSize) return std::nullopt;
  if (checksum_of(header.first(kLengthSize)) != stored_checksum(header)) return std::nullopt;
  return Cursor(header).u64_le();
}

std::optional<std::uint64_t> corrected_length(Bytes header, std::uint64_t most) {
  if (header.size() < kHeaderSize) return std::nullopt;
  const std::uint32_t stored = stored_checksum(header);
  std::array<std::byte, kLengthSize> length;
  std::ranges::copy(header.first(kLengthSize), length.begin());
  if (const auto stated = Cursor(length).u64_le(); stated <= most && differ_in_one_byte(checksum_of(length), stored)) {
    return stated;
  }
  // A CRC is linear: a given change of a byte always changes it in the same way.
  static const Changes kChanges;
  const std::uint32_t change = unmask_crc(checksum_of(length)) ^ unmask_crc(stored);
  for (std::size_t i = 0; i < length.size(); ++i) {
    for (unsigned by = 1; by < kByteValues; ++by) {
      if (kChanges.of[i][by] != change) continue;
      length[i] ^= static_cast<std::byte>(by);
      if (const std::uint64_t corrected = Cursor(length).u64_le(); corrected <= most) return corrected;
      length[i] ^= static_cast<std::byte>(by);
    }
  }
  return std::nullopt;
}

bool footer_matches(Bytes footer, std::uint32_t crc) { return Cursor(footer).u32_le() == mask_crc(crc); }

}  // namespace recordfs::tfrecord
