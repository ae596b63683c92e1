// The order of a family's keys, by the name of its comparator.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::database {

// Stands for the comparator of tables that do not name one, and whose keys are not in bytewise order.
inline constexpr std::string_view kUnprovedOrder = "unknown";

// The end of the names of RocksDB's comparators with user-defined timestamps.
inline constexpr std::string_view kWithTimestamps = ".u64ts";

// Any thread.
//
// A stored key is the user's key; if the comparator has user-defined timestamps, 8 bytes with the timestamp follow it.
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
  // Returns whether stored keys have timestamps.
  bool has_timestamps() const { return has_timestamps_; }

  // Compares two stored keys. Of two with the same user's key, that with the larger timestamp comes first.
  std::strong_ordering compare(Bytes a, Bytes b) const;
  bool is_before(Bytes a, Bytes b) const { return compare(a, b) < 0; }

  // Returns the order of the users' keys.
  KeyOrder of_user_keys() const;
  // Returns the user's key in a stored key. A key that is too short for a timestamp is one as a whole.
  Bytes user_key(Bytes stored) const;
  // Returns the timestamp of a stored key; nullopt if it has none.
  std::optional<std::uint64_t> timestamp(Bytes stored) const;
  // Returns the stored key with this timestamp.
  std::string stored_key(Bytes user_key, std::uint64_t timestamp) const;

 private:
  enum class Kind : std::uint8_t { kBytewise, kReverse, kUnknown };

  std::strong_ordering compare_user_keys(Bytes a, Bytes b) const;

  Kind kind_ = Kind::kBytewise;
  bool has_timestamps_ = false;
};

inline constexpr std::size_t kTimestampSize = 8;
// Appends a timestamp as stored keys have it.
void append_timestamp(std::string& key, std::uint64_t timestamp);

// Compares two keys of tables: by the stored key, then the newer one first. REQUIRES: both are of at least 8 bytes.
std::strong_ordering compare_internal(const KeyOrder& order, Bytes a, Bytes b);

// The stored key in a key of a table, and the rest: sequence << 8 | type. REQUIRES: at least 8 bytes.
inline constexpr std::size_t kTagSize = 8;
inline Bytes user_key_of(Bytes internal) { return internal.first(internal.size() - kTagSize); }
std::uint64_t tag_of(Bytes internal);

// Returns the tag that is before all versions of a key that are at most as new as `sequence`.
constexpr std::uint64_t first_tag_at(std::uint64_t sequence) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 56) - 1;
  return (sequence < kLargest ? sequence : kLargest) << 8 | 0xff;
}

}  // namespace recordfs::database
