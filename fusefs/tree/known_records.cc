#include "fusefs/tree/known_records.h"

#include <algorithm>
#include <new>

#include "fusefs/tree/inside.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kParts = std::uint64_t{1} << Inside::kNumberBits;
constexpr std::uint64_t kRows = std::uint64_t{1} << (kValueBits - Inside::kNumberBits);

std::uint64_t row_of(std::uint64_t number) { return number / kParts % kRows; }

}  // namespace

// Row numbers are reused only after all others, so that a number hardly ever changes its meaning during a mount.
KnownRecords::Rows::iterator KnownRecords::new_row(const Record& record) {
  while (rows_.contains(next_)) next_ = (next_ + 1) % kRows;
  const auto row = rows_.emplace(next_, Row{record}).first;
  next_ = (next_ + 1) % kRows;
  return row;
}

// Adds a record and its row. Throws std::bad_alloc and then adds neither.
KnownRecords::ByRecord::iterator KnownRecords::add(const Record& record) {
  const auto row = new_row(record);
  try {
    return by_record_.emplace(record, row).first;
  } catch (const std::bad_alloc&) {
    rows_.erase(row);
    throw;
  }
}

std::uint64_t KnownRecords::look_up_and_reference(std::size_t container, Node node) {
  const Record record{container, node.kind, node.value};
  const std::lock_guard lock(mutex_);
  auto known = by_record_.find(record);
  if (known == by_record_.end()) known = add(record);
  ++known->second->second.lookups;
  return static_cast<std::uint64_t>(node.kind) << kValueBits | known->second->first * kParts | node.part;
}

std::optional<InodeMap::ResolvedInode> KnownRecords::find(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(row_of(number));
  if (!is_known(number) || row == rows_.end()) return std::nullopt;
  const Record& record = row->second.record;
  if (record.kind != static_cast<NodeKind>(number >> kValueBits)) return std::nullopt;
  return InodeMap::ResolvedInode{record.container, {record.kind, record.value, number % kParts}};
}

void KnownRecords::forget(std::uint64_t number, std::uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(row_of(number));
  if (!is_known(number) || row == rows_.end()) return;
  row->second.lookups -= std::min(lookups, row->second.lookups);
  if (row->second.lookups > 0) return;
  by_record_.erase(row->second.record);
  rows_.erase(row);
}

std::size_t KnownRecords::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

}  // namespace recordfs
