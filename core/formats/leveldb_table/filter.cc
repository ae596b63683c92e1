#include "core/formats/leveldb_table/filter.h"

#include <bit>
#include <utility>

#include "core/base/cursor.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint32_t kBloomSeed = 0xbc9f1d34;
constexpr unsigned kMostProbes = 30;
constexpr std::size_t kOffsetSize = 4;

// LevelDB's hash. RocksDB adds the last bytes as signed numbers.
std::uint32_t hash_of(Bytes key, bool adds_signed) {
  constexpr std::uint32_t kFactor = 0xc6a4a793;
  constexpr int kShift = 24;
  std::uint32_t hash = kBloomSeed ^ static_cast<std::uint32_t>(key.size() * kFactor);
  for (; key.size() >= sizeof(std::uint32_t); key = key.subspan(sizeof(std::uint32_t))) {
    hash = (hash + load_le<std::uint32_t>(key.data())) * kFactor;
    hash ^= hash >> 16;
  }
  if (key.empty()) return hash;
  for (std::size_t i = key.size(); i-- > 0;) {
    const auto byte = std::to_integer<std::uint8_t>(key[i]);
    const std::uint32_t number = adds_signed ? static_cast<std::uint32_t>(static_cast<std::int8_t>(byte)) : byte;
    hash += number << (8 * i);
  }
  hash *= kFactor;
  return hash ^ hash >> kShift;
}

bool has_bit(Bytes bits, std::uint64_t at) {
  return (std::to_integer<unsigned>(bits[static_cast<std::size_t>(at / 8)]) >> (at % 8) & 1) != 0;
}

// `filter`: the bits, then the number of probes.
bool matches_in_blocks(Bytes filter, std::uint32_t hash) {
  if (filter.size() < 2) return false;  // of no keys
  const auto probes = std::to_integer<unsigned>(filter.back());
  const Bytes bits = filter.first(filter.size() - 1);
  if (probes > kMostProbes || bits.size() > UINT32_MAX / 8) return true;
  const auto count = static_cast<std::uint32_t>(bits.size() * 8);
  const std::uint32_t delta = std::rotr(hash, 17);
  for (unsigned i = 0; i < probes; ++i, hash += delta) {
    if (!has_bit(bits, hash % count)) return false;
  }
  return true;
}

// RocksDB's filter of a whole table until format version 4: lines of bits, the number of probes, the number of lines.
constexpr std::size_t kTailOfWhole = 5;

bool matches_whole(Bytes filter, std::uint32_t hash) {
  if (filter.size() <= kTailOfWhole) return true;
  Cursor tail(filter.last(kTailOfWhole));
  const std::uint8_t probes = tail.u8();
  const std::uint32_t lines = tail.u32_le();
  const Bytes bits = filter.first(filter.size() - kTailOfWhole);
  if (probes == 0 || probes > kMostProbes || lines == 0 || bits.size() % lines != 0) return true;
  const std::size_t line_size = bits.size() / lines;
  if (!std::has_single_bit(line_size)) return true;
  const Bytes line = bits.subspan(hash % lines * line_size, line_size);
  const std::uint32_t delta = std::rotr(hash, 17);
  for (unsigned i = 0; i < probes; ++i, hash += delta) {
    if (!has_bit(line, hash & (line_size * 8 - 1))) return false;
  }
  return true;
}

}  // namespace

std::optional<Filter> Filter::of(Buffer content, std::string_view kind, std::string_view policy) {
  const bool is_leveldb = policy == "leveldb.BuiltinBloomFilter2";
  if (!is_leveldb && policy != "rocksdb.BuiltinBloomFilter") return std::nullopt;
  if (kind == "filter" && content.size() > kOffsetSize) {
    return Filter(std::move(content), Form::kPerBlock, !is_leveldb);
  }
  if (kind == "fullfilter" && !is_leveldb) return Filter(std::move(content), Form::kWhole, true);
  return std::nullopt;
}

bool Filter::may_contain(Bytes key, Position block) const {
  const std::uint32_t hash = hash_of(key, is_rocksdb_);
  if (form_ == Form::kWhole) return matches_whole(content_.view(), hash);
  const Bytes part = part_for(block);
  return part.data() == nullptr || matches_in_blocks(part, hash);
}

// Returns the filter of the blocks that begin near `block`; a null span if the filter does not have it.
// The filters are followed by their offsets, the offset of these, and the logarithm of the distance between two.
Bytes Filter::part_for(Position block) const {
  const Bytes content = content_.view();
  const auto distance = std::to_integer<unsigned>(content.back());
  const Bytes rest = content.first(content.size() - 1);
  Cursor tail(rest.last(kOffsetSize));
  const std::uint32_t offsets = tail.u32_le();
  const std::size_t end = rest.size() - kOffsetSize;
  if (offsets > end || distance >= 64) return {};
  const std::uint64_t index = block >> distance;
  // The offset after the last filter is that of the offsets.
  if (index >= (end - offsets) / kOffsetSize) return {};
  Cursor pair(rest.subspan(offsets + static_cast<std::size_t>(index) * kOffsetSize));
  const std::uint32_t from = pair.u32_le();
  const std::uint32_t to = pair.u32_le();
  if (!pair.ok() || from > to || to > offsets) return {};
  return content.subspan(from, to - from);
}

}  // namespace recordfs::leveldb_table
