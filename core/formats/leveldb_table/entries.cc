#include "core/formats/leveldb_table/entries.h"

#include <algorithm>

#include "core/base/cursor.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::size_t kTagSize = 8;

constexpr std::size_t kRestartSize = 4;
constexpr std::uint32_t kHashFlag = 1u << 31;      // a hash table is between the restarts and their number
constexpr std::uint32_t kSpecialFlags = 7u << 28;  // separate keys and values, keys of equal distance, or unknown

// Returns the content without its hash table: a byte for each bucket, and a 2-byte count.
std::optional<Bytes> without_hashes(Bytes content) {
  constexpr std::size_t kCountSize = 2;
  if (content.size() < kCountSize) return std::nullopt;
  Cursor cursor(content.last(kCountSize));
  const std::size_t buckets = cursor.u16_le();
  content = content.first(content.size() - kCountSize);
  if (content.size() < buckets) return std::nullopt;
  return content.first(content.size() - buckets);
}

// No database has reached it, but keys that are not internal often exceed it when parsed as internal.
constexpr std::uint64_t kLargestSequence = std::uint64_t{1} << 48;
constexpr std::uint64_t kSequenceOfSeeks = (std::uint64_t{1} << 56) - 1;  // in shortened keys of an index

bool has_type_of_leveldb(const InternalKey& key) { return key.type == kDelete || key.type == kPut; }

}  // namespace

std::optional<Extents> split_content(Bytes content, bool may_have_flags) {
  if (content.size() < kRestartSize) return std::nullopt;
  Cursor cursor(content.last(kRestartSize));
  std::uint32_t count = cursor.u32_le();
  content = content.first(content.size() - kRestartSize);
  if (may_have_flags && (count & kHashFlag) != 0) {
    const auto rest = without_hashes(content);
    if (!rest) return std::nullopt;
    content = *rest;
    count &= ~kHashFlag;
  }
  if (may_have_flags && (count & kSpecialFlags) != 0) return std::nullopt;
  if (count == 0 || count > content.size() / kRestartSize) return std::nullopt;  // writers always add the first one
  const std::size_t size = count * kRestartSize;
  return Extents{content.first(content.size() - size), content.last(size)};
}

std::size_t EntryReader::restart(std::size_t index) const {
  return Cursor(extents_.restarts.subspan(index * kRestartSize)).u32_le();
}

std::optional<Entry> EntryReader::next() {
  Cursor cursor(rest());
  Entry entry;
  entry.shared = cursor.varint32();
  const std::uint32_t suffix = cursor.varint32();
  const std::uint32_t value = has_values_ ? cursor.varint32() : 0;
  entry.suffix = cursor.take(suffix);
  entry.value = cursor.take(value);
  if (!cursor.ok() || entry.shared > key_size_) return std::nullopt;
  next_ += cursor.offset();
  key_size_ = entry.key_size();
  return entry;
}

bool EntryReader::go_to_restart() {
  const std::size_t count = extents_.restarts.size() / kRestartSize;
  while (next_restart_ < count && restart(next_restart_) <= next_) ++next_restart_;
  if (next_restart_ == count || restart(next_restart_) >= extents_.entries.size()) return false;
  next_ = restart(next_restart_);
  key_size_ = 0;
  return true;
}

Bytes KeyBuilder::key(const Entry& entry) {
  key_.resize(static_cast<std::size_t>(entry.shared));
  key_ += as_text(entry.suffix);
  return as_bytes(key_);
}

std::optional<InternalKey> parse_internal(Bytes key) {
  if (key.size() < kTagSize) return std::nullopt;
  const std::uint64_t tag = Cursor(key.last(kTagSize)).u64_le();
  return InternalKey{key.first(key.size() - kTagSize), tag >> 8, static_cast<std::uint8_t>(tag & 0xff)};
}

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case kDelete: return "delete";
    case kPut: return "put";
    case 0x02: return "merge";
    case 0x07: return "single_delete";
    case 0x0f: return "delete_range";
    case 0x11: return "blob_index";
    case 0x14: return "delete_with_timestamp";
    case 0x16: return "put_entity";
    case 0x18: return "timed_put";
    default: return {};
  }
}

bool is_entry_of_database(Bytes key, Bytes value) {
  const auto parsed = parse_internal(key);
  return parsed && has_type_of_leveldb(*parsed) && parsed->sequence < kLargestSequence &&
         (parsed->type == kPut || value.empty());
}

bool is_index_key_of_database(Bytes key) {
  const auto parsed = parse_internal(key);
  return parsed && has_type_of_leveldb(*parsed) &&
         (parsed->sequence < kLargestSequence || parsed->sequence == kSequenceOfSeeks);
}

}  // namespace recordfs::leveldb_table
