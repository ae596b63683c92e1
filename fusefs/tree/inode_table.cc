#include "fusefs/tree/inode_table.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>

#include "core/hash/fnv.h"
#include "fusefs/tree/inside.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kAlignment = 4096;  // also keeps the number of the mount's own root free

// A counted number has a row in its upper value bits and a part in the lower ones.
constexpr std::uint64_t kParts = std::uint64_t{1} << Inside::kNumberBits;
constexpr std::uint64_t kRows = kValuesOfAKind / kParts;

NodeKind kind_of(std::uint64_t number) { return static_cast<NodeKind>(number >> kValueBits); }

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = fnv1a(name);
  hash ^= hash >> 32;  // so that the upper bits depend on the whole name
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
  if (!is_counted(node.kind)) return number_in(begin, node);
  const std::uint64_t record = mixed(begin + node.value + 1);
  return static_cast<std::uint64_t>(node.kind) << kValueBits | mixed(record + node.part) >> (64 - kValueBits);
}

unsigned InodeTable::value_bits(std::size_t containers) {
  // The ranges together may take half of all values, so that a gap of a range's length remains wherever the others are.
  // The values are half of that again, because a range is longer than its addresses.
  return static_cast<unsigned>(kValueBits - 2 - std::bit_width(std::max<std::size_t>(containers, 1) - 1));
}

InodeTable::Range InodeTable::wanted(std::string_view name, std::uint64_t values) {
  const std::uint64_t length = std::min(values / kAlignment + 1, kValuesOfAKind / kAlignment / 2) * kAlignment;
  return {std::max(hash_of(name) % (kValuesOfAKind - length) / kAlignment, std::uint64_t{1}) * kAlignment, length};
}

std::optional<std::uint64_t> InodeTable::first_free(std::uint64_t from, std::uint64_t length) const {
  auto at = ranges_.upper_bound(from);
  if (at != ranges_.begin()) from = std::max(from, std::prev(at)->second.end);
  for (; at != ranges_.end() && at->first - from < length; ++at) from = at->second.end;
  if (from > kValuesOfAKind || length > kValuesOfAKind - from) return std::nullopt;
  return from;
}

std::optional<std::uint64_t> InodeTable::add(std::uint64_t container, Range wanted) {
  const std::lock_guard lock(mutex_);
  if (const auto has = begins_.find(container); has != begins_.end()) return has->second;
  auto begin = first_free(wanted.begin, wanted.length);
  if (!begin) begin = first_free(kAlignment, wanted.length);
  if (!begin) return std::nullopt;
  ranges_.emplace(*begin, OwnedRange{*begin + wanted.length, container});
  begins_.emplace(container, *begin);
  return begin;
}

void InodeTable::remove(std::uint64_t container) {
  const std::lock_guard lock(mutex_);
  const auto has = begins_.find(container);
  if (has == begins_.end()) return;
  ranges_.erase(has->second);
  begins_.erase(has);
}

// Row numbers are reused only after all others, so that a number hardly ever changes its meaning during a mount.
std::uint64_t InodeTable::look_up_and_reference(std::uint64_t container, Node node) {
  const Counted counted{container, node.kind, node.value};
  const std::lock_guard lock(mutex_);
  auto known = row_numbers_.find(counted);
  if (known == row_numbers_.end()) {
    while (rows_.contains(next_row_)) next_row_ = (next_row_ + 1) % kRows;
    decltype(row_numbers_) added{{counted, next_row_}};  // allocated first: if that fails, neither map has an entry
    rows_.emplace(next_row_, Row{counted});
    row_numbers_.merge(added);
    known = row_numbers_.find(counted);
    next_row_ = (next_row_ + 1) % kRows;
  }
  ++rows_.at(known->second).lookups;
  return static_cast<std::uint64_t>(node.kind) << kValueBits | known->second * kParts | node.part;
}

InodeTable::Rows::const_iterator InodeTable::row(std::uint64_t number) const {
  const auto found = rows_.find(number % kValuesOfAKind / kParts);
  return found != rows_.end() && found->second.counted.kind == kind_of(number) ? found : rows_.end();
}

std::optional<InodeTable::ResolvedInode> InodeTable::find(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  if (is_counted(kind_of(number))) {
    const auto found = row(number);
    if (found == rows_.end()) return std::nullopt;
    const Counted& counted = found->second.counted;
    return ResolvedInode{counted.container, {counted.kind, counted.value, number % kParts}};
  }
  const std::uint64_t value = number % kValuesOfAKind;
  const auto after = ranges_.upper_bound(value);
  if (kind_of(number) >= NodeKind::kComputedEnd || after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (value >= range.end) return std::nullopt;
  return ResolvedInode{range.container, {kind_of(number), value - begin}};
}

void InodeTable::forget(std::uint64_t number, std::uint64_t lookups) {
  if (!is_counted(kind_of(number))) return;
  const std::lock_guard lock(mutex_);
  const auto found = row(number);
  if (found == rows_.end()) return;
  Row& known = rows_.at(found->first);
  known.lookups -= std::min(lookups, known.lookups);
  if (known.lookups > 0) return;
  row_numbers_.erase(known.counted);
  rows_.erase(found);
}

std::size_t InodeTable::rows() const {
  const std::shared_lock lock(mutex_);
  return rows_.size();
}

}  // namespace recordfs
