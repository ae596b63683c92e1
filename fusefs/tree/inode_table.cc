#include "fusefs/tree/inode_table.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/decoding/inside.h"
#include "core/hash/fnv.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kAlignment = 4096;  // also keeps the number of the mount's own root free

// A counted number has a row in its upper value bits and a part in the lower ones.
constexpr std::uint64_t kParts = std::uint64_t{1} << Inside::kNumberBits;
constexpr std::uint64_t kRows = kValuesOfAKind / kParts;

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

bool is_still(const MirroredNode& node, MirroredType type, const FileState& state) {
  if (node.type != type || !node.state.is_same_file(state)) return false;
  if (type == MirroredType::kDirectory || type == MirroredType::kRecordfs) return true;
  return node.is_settled && node.state.is_unchanged(state);
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
  if (node.kind == NodeKind::kDatabaseNode) return number_in(0, {NodeKind::kDatabase, node.value});
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

void InodeTable::add_own(int bits, std::size_t shards) {
  const std::uint64_t first = std::uint64_t{1} << bits;
  has_own_ = true;
  ranges_.emplace(0, OwnedRange{first, kOwnNodes});
  if (shards > 0) ranges_.emplace(first, OwnedRange{(shards + std::uint64_t{1}) << bits, 0, bits});
}

// Row numbers are reused only after all others, so that a number hardly ever changes its meaning during a mount.
std::uint64_t InodeTable::look_up_and_reference(std::uint64_t container, Node node) {
  const Counted counted{container, node.kind, node.value, node.key};
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
  return found != rows_.end() && found->second.counted.kind == node_kind(number) ? found : rows_.end();
}

std::optional<InodeTable::ResolvedInode> InodeTable::find(std::uint64_t number) const {
  const NodeKind kind = node_kind(number);
  std::shared_lock lock(mutex_, std::defer_lock);
  if (!has_fixed_ranges_ || is_counted(kind)) lock.lock();
  if (is_counted(kind)) {
    const auto found = row(number);
    if (found == rows_.end()) return std::nullopt;
    const Counted& counted = found->second.counted;
    return ResolvedInode{counted.container, {counted.kind, counted.value, number % kParts, counted.key}};
  }
  const std::uint64_t value = number % kValuesOfAKind;
  if (kind == NodeKind::kDatabase && has_own_) return ResolvedInode{kOwnNodes, {kind, value}};
  const auto after = ranges_.upper_bound(value);
  if (kind >= NodeKind::kComputedEnd || after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (value >= range.end) return std::nullopt;
  const std::uint64_t container = (value - begin) >> range.bits;
  return ResolvedInode{range.container + container, {kind, value - begin - (container << range.bits)}};
}

InodeTable::MirroredPointer InodeTable::add(MirroredNode node) {
  auto added = std::make_shared<const MirroredNode>(std::move(node));
  mirrored_[added->number].node = added;
  const SourcePath path{added->source, added->path};
  newest_.erase(path);  // also removes the key, which points into the previous node
  newest_.emplace(path, added);
  return added;
}

std::uint64_t InodeTable::add_source(std::size_t source, const FileState& state, std::optional<std::uint64_t> number) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t given = number ? *number : next_mirrored_++;
  add({.number = given, .source = source, .path = {}, .type = MirroredType::kDirectory, .state = state});
  return given;
}

InodeTable::MirroredPointer InodeTable::look_up_and_reference(std::size_t source, const std::string& path,
                                                              MirroredType type, const FileState& state,
                                                              const timespec& now) {
  const std::lock_guard lock(mutex_);
  const auto known = newest_.find({source, path});
  MirroredPointer node = known == newest_.end() ? nullptr : known->second;
  if (node == nullptr || !is_still(*node, type, state)) {
    node = add({next_mirrored_++, source, path, type, state, state.is_settled(now)});
  }
  ++mirrored_[node->number].lookups;
  return node;
}

InodeTable::MirroredPointer InodeTable::find_mirrored(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  const auto row = mirrored_.find(number);
  return row == mirrored_.end() ? nullptr : row->second.node;
}

void InodeTable::reference_inside(std::uint64_t container) {
  const std::lock_guard lock(mutex_);
  const auto row = mirrored_.find(container);
  if (row != mirrored_.end()) ++row->second.inside;
}

std::optional<std::uint64_t> InodeTable::forget(std::uint64_t number, std::uint64_t lookups) {
  const bool counted = is_counted(node_kind(number));
  if (has_fixed_ranges_ && !counted) return std::nullopt;
  const auto inside = find(number);
  const std::lock_guard lock(mutex_);
  if (const auto found = counted ? row(number) : rows_.end(); found != rows_.end()) {
    Row& known = rows_.at(found->first);
    known.lookups -= std::min(lookups, known.lookups);
    if (known.lookups == 0) {
      row_numbers_.erase(known.counted);
      rows_.erase(found);
    }
  }
  return inside ? take_back(inside->container, &MirroredRow::inside, lookups)
                : take_back(number, &MirroredRow::lookups, lookups);
}

// A source itself keeps its row.
std::optional<std::uint64_t> InodeTable::take_back(std::uint64_t number, std::uint64_t MirroredRow::*count,
                                                   std::uint64_t lookups) {
  const auto found = mirrored_.find(number);
  if (found == mirrored_.end() || found->second.node->path.empty()) return std::nullopt;
  MirroredRow& row = found->second;
  row.*count -= std::min(row.*count, lookups);
  if (row.lookups > 0 || row.inside > 0) return std::nullopt;
  const auto newest = newest_.find({row.node->source, row.node->path});
  if (newest != newest_.end() && newest->second == row.node) newest_.erase(newest);
  mirrored_.erase(found);
  return number;
}

std::size_t InodeTable::rows() const {
  const std::shared_lock lock(mutex_);
  return rows_.size();
}

std::size_t InodeTable::mirrored_rows() const {
  const std::shared_lock lock(mutex_);
  return mirrored_.size();
}

}  // namespace recordfs
