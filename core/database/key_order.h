// The order of a family's keys, by the name of its comparator.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::database {

// Stands for the comparator of tables that do not name one, and whose keys are not in bytewise order.
inline constexpr std::string_view kUnprovedOrder = "unknown";

// Any thread.
class KeyOrder {
 public:
  // Bytewise.
  KeyOrder() = default;
  // Returns the order of a comparator. An empty name counts as bytewise.
  static KeyOrder of(std::string_view comparator);

  // Returns whether recordfs knows the comparator. If not, compare() is bytewise, and the keys of a table are not
  // sorted by it.
  bool is_known() const { return kind_ != Kind::kUnknown; }
  // Returns whether keys with one prefix are consecutive.
  bool keeps_prefixes_together() const { return kind_ == Kind::kBytewise; }
  // Returns whether a filter of a table contains the keys as they are, and not without their timestamps.
  bool filters_keys_as_they_are() const { return !has_timestamps_; }

  std::strong_ordering compare(Bytes a, Bytes b) const;
  bool is_before(Bytes a, Bytes b) const { return compare(a, b) < 0; }

 private:
  enum class Kind : std::uint8_t { kBytewise, kReverse, kUnknown };

  Kind kind_ = Kind::kBytewise;
  bool has_timestamps_ = false;  // keys end with 8 bytes, of which the larger number comes first
};

// Compares two keys of tables: by the user's key, then the newer one first. REQUIRES: both are of at least 8 bytes.
std::strong_ordering compare_internal(const KeyOrder& order, Bytes a, Bytes b);

// The part of a key of a table that the user gave, and the rest: sequence << 8 | type. REQUIRES: at least 8 bytes.
inline constexpr std::size_t kTagSize = 8;
inline Bytes user_key_of(Bytes internal) { return internal.first(internal.size() - kTagSize); }
std::uint64_t tag_of(Bytes internal);

// Returns the tag that is before all versions of a key that are at most as new as `sequence`.
constexpr std::uint64_t first_tag_at(std::uint64_t sequence) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 56) - 1;
  return (sequence < kLargest ? sequence : kLargest) << 8 | 0xff;
}

}  // namespace recordfs::database
