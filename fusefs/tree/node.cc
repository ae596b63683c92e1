#include "fusefs/tree/node.h"

#include <algorithm>
#include <bit>

namespace recordfs {
namespace {

constexpr std::uint64_t kAlignment = 4096;  // also keeps the number of the mount's own root free

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a, then mixed so that the upper bits depend on the whole name
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::uint64_t mirrored_inode(std::string_view path) {
  return static_cast<std::uint64_t>(NodeKind::kMirrored) << kValueBits | hash_of(path) % kValuesOfAKind;
}

std::uint64_t number_in(std::uint64_t begin, Node node) {
  return static_cast<std::uint64_t>(node.kind) << kValueBits | (begin + node.value);
}

std::uint64_t inode_in(std::uint64_t begin, Node node) {
  if (node.kind != NodeKind::kPart && node.kind != NodeKind::kKey) return number_in(begin, node);
  const std::uint64_t record = mixed(begin + node.value + 1);
  return static_cast<std::uint64_t>(node.kind) << kValueBits | mixed(record + node.part) >> (64 - kValueBits);
}

InodeMap InodeMap::single() {
  InodeMap inode_map;
  inode_map.begins_.push_back(0);
  inode_map.ranges_.push_back({0, kValuesOfAKind, 0});
  return inode_map;
}

unsigned InodeMap::value_bits(std::size_t containers) {
  // The ranges together may take half of all values, so that a gap of a range's length remains wherever the others are.
  // The values are half of that again, because a range is longer than its addresses.
  return static_cast<unsigned>(kValueBits - 2 - std::bit_width(std::max<std::size_t>(containers, 1) - 1));
}

InodeMap::Wanted InodeMap::wanted(std::string_view name, std::uint64_t values) {
  const std::uint64_t length = std::min(values / kAlignment + 1, kValuesOfAKind / kAlignment / 2) * kAlignment;
  return {std::max(hash_of(name) % (kValuesOfAKind - length) / kAlignment, std::uint64_t{1}) * kAlignment, length};
}

void InodeMap::add(std::string_view name, std::uint64_t values) {
  auto [begin, length] = wanted(name, values);
  auto at = free_range(begin, length);
  if (begin + length > kValuesOfAKind) {
    begin = kAlignment;  // no room after the hash's position: take the first free range
    at = free_range(begin, length);
  }
  const std::size_t container = begins_.size();
  begins_.push_back(begin);
  ranges_.insert(at, {begin, begin + length, container});
}

std::vector<InodeMap::Range>::const_iterator InodeMap::free_range(std::uint64_t& begin, std::uint64_t length) const {
  auto at = ranges_.begin();
  for (; at != ranges_.end(); ++at) {
    if (at->end <= begin) continue;
    if (begin + length <= at->begin) break;
    begin = at->end;
  }
  return at;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> InodeMap::taken() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const Range& range : ranges_) taken.emplace_back(range.begin, range.end);
  return taken;
}

std::optional<InodeMap::ResolvedInode> InodeMap::find(std::uint64_t number) const {
  const std::uint64_t kind = number >> kValueBits;
  const std::uint64_t value = number & (kValuesOfAKind - 1);
  if (kind >= kNodeKinds) return std::nullopt;
  const auto after = std::ranges::upper_bound(ranges_, value, {}, &Range::begin);
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = *(after - 1);
  if (value >= range.end) return std::nullopt;
  return ResolvedInode{range.container, {static_cast<NodeKind>(kind), value - range.begin}};
}

}  // namespace recordfs
