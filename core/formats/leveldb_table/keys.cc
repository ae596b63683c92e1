#include "core/formats/leveldb_table/keys.h"

#include "core/base/cursor.h"

namespace recordfs::leveldb_table {
namespace {

// No database has reached it, but keys that are not internal often exceed it when parsed as internal.
constexpr std::uint64_t kLargestSequence = std::uint64_t{1} << 48;
constexpr std::uint64_t kSequenceOfSeeks = (std::uint64_t{1} << 56) - 1;  // in shortened keys of an index

bool has_type_of_leveldb(const InternalKey& key) { return key.type == kDelete || key.type == kPut; }

}  // namespace

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
