#include "core/database/key_order.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/cursor.h"

namespace recordfs::database {
namespace {

constexpr std::string_view kWithTimestamps = ".u64ts";
constexpr std::size_t kTimestampSize = 8;

std::strong_ordering bytewise(Bytes a, Bytes b) {
  const std::size_t common = std::min(a.size(), b.size());
  const int difference = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return difference != 0 ? difference <=> 0 : a.size() <=> b.size();
}

// A key that is too short for a timestamp has none, and follows those with the same text and one. So any bytes are in
// an order, which sorting needs.
struct TimedKey {
  explicit TimedKey(Bytes key) : text(key) {
    if (key.size() < kTimestampSize) return;
    text = key.first(key.size() - kTimestampSize);
    time = Cursor(key.last(kTimestampSize)).u64_le();
  }

  Bytes text;
  std::optional<std::uint64_t> time;
};

std::strong_ordering by_timestamp(Bytes a, Bytes b, bool is_reverse) {
  const TimedKey first(a);
  const TimedKey second(b);
  const auto order = bytewise(first.text, second.text);
  if (order != 0) return is_reverse ? 0 <=> order : order;
  return second.time <=> first.time;
}

}  // namespace

KeyOrder KeyOrder::of(std::string_view comparator) {
  KeyOrder order;
  if (comparator.ends_with(kWithTimestamps)) {
    order.has_timestamps_ = true;
    comparator.remove_suffix(kWithTimestamps.size());
  }
  if (comparator.empty() || comparator == "leveldb.BytewiseComparator") return order;
  order.kind_ = comparator == "rocksdb.ReverseBytewiseComparator" ? Kind::kReverse : Kind::kUnknown;
  return order;
}

std::strong_ordering KeyOrder::compare(Bytes a, Bytes b) const {
  const bool is_reverse = kind_ == Kind::kReverse;
  if (has_timestamps_ && is_known()) return by_timestamp(a, b, is_reverse);
  return is_reverse ? bytewise(b, a) : bytewise(a, b);
}

std::uint64_t tag_of(Bytes internal) { return Cursor(internal.last(kTagSize)).u64_le(); }

std::strong_ordering compare_internal(const KeyOrder& order, Bytes a, Bytes b) {
  const auto by_key = order.compare(user_key_of(a), user_key_of(b));
  return by_key != 0 ? by_key : tag_of(b) <=> tag_of(a);
}

}  // namespace recordfs::database
