#include "core/formats/leveldb_table/resync.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/formats/leveldb_table/salvage.h"
#include "core/formats/leveldb_table/stored.h"
#include "core/hash/crc32c.h"

namespace recordfs::leveldb_table {
namespace {

// A CRC is the remainder of a polynomial, here with the coefficient of x^0 in the highest bit. So the CRC of any
// range follows from those of two prefixes of the window. The range [q, e) has the CRC stored after it exactly if
// start_key(q) == end_key(e). Both keys are the prefixes' remainders, divided by x^8 for each of their bytes. One
// pass computes all keys, and blocks are where they are equal.
constexpr std::uint32_t kPolynomial = 0x82f63b78;
constexpr std::uint32_t kInitial = 0xffffffff;
constexpr std::uint32_t kOne = std::uint32_t{1} << 31;
constexpr std::uint32_t kX24 = std::uint32_t{1} << 7;

std::uint32_t times_x(std::uint32_t value) { return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0); }
constexpr std::uint32_t over_x(std::uint32_t value) {
  return (value & kOne) != 0 ? ((value ^ kPolynomial) << 1) | 1 : value << 1;
}

using EachByte = std::array<std::uint32_t, 256>;

constexpr EachByte make_over_x8() {
  EachByte all{};
  for (std::uint32_t byte = 0; byte < all.size(); ++byte) {
    all[byte] = byte << 24;
    for (int i = 0; i < 8; ++i) all[byte] = over_x(all[byte]);
  }
  return all;
}

// For each value of the byte at the lowest powers of x.
constexpr EachByte kOverX8 = make_over_x8();

std::uint32_t over_x8(std::uint32_t value) { return (value << 8) ^ kOverX8[value >> 24]; }

// Takes a step for each power of x up to the highest in `a`.
std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (; a != 0; a <<= 1, b = times_x(b)) sum ^= (a & kOne) != 0 ? b : 0;
  return sum;
}

// Computes both keys at each position while scanning a window.
class Keys {
 public:
  // Returns the key of a range that begins here.
  std::uint32_t start_key() const { return bytes_ ^ initial_; }
  // Returns the key of a range that ends here, if its CRC is `crc`.
  std::uint32_t end_key(std::uint32_t crc) const { return bytes_ ^ product(~crc, power_); }
  void pass(std::byte byte) {
    bytes_ ^= product(std::to_integer<std::uint32_t>(byte) << 24, power_x24_);
    initial_ = over_x8(initial_);
    power_ = over_x8(power_);
    power_x24_ = over_x8(power_x24_);
  }

 private:
  std::uint32_t bytes_ = 0;           // contribution of the bytes before this position
  std::uint32_t initial_ = kInitial;  // contribution of the CRC's initial value
  std::uint32_t power_ = kOne;        // 1 / x^8 for each byte before this position
  std::uint32_t power_x24_ = kX24;    // the same for a byte 24 places from the highest bit
};

struct End {
  std::uint32_t key = 0;
  std::uint32_t type_at = 0;  // offset of the type in the window, directly after the block
};

// The positions where a block may end, by their keys.
class Ends {
 public:
  explicit Ends(Bytes window) : is_there_(kSlots) {
    Keys keys;
    for (std::size_t i = 0; i + kTrailerSize <= window.size(); ++i) {
      const std::byte type = window[i];
      keys.pass(type);
      if (!may_be_type(type)) continue;
      const std::uint32_t crc = unmask_crc(Cursor(window.subspan(i + 1, kChecksumSize)).u32_le());
      ends_.push_back({keys.end_key(crc), static_cast<std::uint32_t>(i)});
      is_there_[ends_.back().key % kSlots] = true;
    }
    std::ranges::stable_sort(ends_, {}, &End::key);
  }

  // Returns those with this key, in file order.
  std::span<const End> with(std::uint32_t key) const {
    if (!is_there_[key % kSlots]) return {};
    const auto first = std::ranges::lower_bound(ends_, key, {}, &End::key);
    const auto after = std::ranges::upper_bound(ends_, key, {}, &End::key);
    return {first, after};
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 20;
  std::vector<End> ends_;
  std::vector<bool> is_there_;  // whether `ends_` may have such a key
};

// Two keys are equal by chance now and then, but the bytes between them are then not a block of entries.
Result<bool> is_block(const Source& source, const BlockPlace& place, const Dialect& dialect, const Limits& limits) {
  auto content = read_block(source, place, dialect, limits);
  if (!content && is_permanent(content.error().code)) return false;
  if (!content) return std::move(content).error();
  ASSIGN_OR_RETURN(const auto kind, kind_of_block(source, place, dialect, limits));
  return kind != Kind::kFilter;
}

}  // namespace

Result<std::optional<BlockPlace>> find_block(const Source& source, Position begin, Position end, const Dialect& dialect,
                                             const Limits& limits) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(source, begin, std::min(kResyncWindow, end - begin)));
  const Bytes window = bytes.view();
  const Ends ends(window);
  Keys keys;
  for (std::size_t at = 0; at < window.size(); ++at) {
    for (const End& found : ends.with(keys.start_key())) {
      if (found.type_at <= at) continue;
      const BlockPlace place{begin + at, found.type_at - at};
      ASSIGN_OR_RETURN(const auto is_there, is_block(source, place, dialect, limits));
      if (is_there) return std::optional<BlockPlace>(place);
    }
    keys.pass(window[at]);
  }
  return std::optional<BlockPlace>{};
}

}  // namespace recordfs::leveldb_table
