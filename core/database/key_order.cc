#include "core/database/key_order.h"

#include <algorithm>
#include <cstring>

#include "core/base/cursor.h"

namespace recordfs::database {
namespace {

std::strong_ordering bytewise(Bytes a, Bytes b) {
  const std::size_t common = std::min(a.size(), b.size());
  const int difference = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return difference != 0 ? difference <=> 0 : a.size() <=> b.size();
}

}  // namespace

KeyOrder KeyOrder::of(std::string_view comparator) {
  KeyOrder order;
  const bool has_timestamps = comparator.ends_with(kWithTimestamps);
  if (has_timestamps) comparator.remove_suffix(kWithTimestamps.size());
  if (comparator == "rocksdb.ReverseBytewiseComparator") {
    order.kind_ = Kind::kReverse;
  } else if (!comparator.empty() && comparator != "leveldb.BytewiseComparator") {
    order.kind_ = Kind::kUnknown;
  }
  order.has_timestamps_ = has_timestamps && order.is_known();
  return order;
}

// A key that is too short for a timestamp follows those with the same text and one. So any bytes are in an order, which
// sorting needs.
std::strong_ordering KeyOrder::compare(Bytes a, Bytes b) const {
  if (!has_timestamps_) return compare_user_keys(a, b);
  const auto by_key = compare_user_keys(user_key(a), user_key(b));
  return by_key != 0 ? by_key : timestamp(b) <=> timestamp(a);
}

std::strong_ordering KeyOrder::compare_user_keys(Bytes a, Bytes b) const {
  return kind_ == Kind::kReverse ? bytewise(b, a) : bytewise(a, b);
}

KeyOrder KeyOrder::of_user_keys() const {
  KeyOrder order = *this;
  order.has_timestamps_ = false;
  return order;
}

Bytes KeyOrder::user_key(Bytes stored) const {
  return has_timestamps_ && stored.size() >= kTimestampSize ? stored.first(stored.size() - kTimestampSize) : stored;
}

std::optional<std::uint64_t> KeyOrder::timestamp(Bytes stored) const {
  if (!has_timestamps_ || stored.size() < kTimestampSize) return std::nullopt;
  return Cursor(stored.last(kTimestampSize)).u64_le();
}

std::string KeyOrder::stored_key(Bytes user_key, std::uint64_t timestamp) const {
  std::string key(as_text(user_key));
  if (has_timestamps_) append_timestamp(key, timestamp);
  return key;
}

void append_timestamp(std::string& key, std::uint64_t timestamp) {
  for (std::size_t i = 0; i < kTimestampSize; ++i) key += static_cast<char>(timestamp >> 8 * i & 0xff);
}

std::uint64_t tag_of(Bytes internal) { return Cursor(internal.last(kTagSize)).u64_le(); }

std::strong_ordering compare_internal(const KeyOrder& order, Bytes a, Bytes b) {
  const auto by_key = order.compare(user_key_of(a), user_key_of(b));
  return by_key != 0 ? by_key : tag_of(b) <=> tag_of(a);
}

}  // namespace recordfs::database
