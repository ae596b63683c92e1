#include "fusefs/tree/mirror/known_nodes.h"

#include <algorithm>
#include <utility>

namespace recordfs {
namespace {

bool is_still(const MirroredNode& node, MirroredType type, const FileState& state) {
  if (node.type != type || !node.state.is_same_file(state)) return false;
  if (type == MirroredType::kDirectory || type == MirroredType::kRecordfs) return true;
  return node.is_settled && node.state.is_unchanged(state);
}

}  // namespace

KnownNodes::Pointer KnownNodes::add(MirroredNode node) {
  auto added = std::make_shared<const MirroredNode>(std::move(node));
  rows_[added->number].node = added;
  newest_.erase(source_path(*added));  // also removes the key, which points into the previous node
  newest_.emplace(source_path(*added), added);
  return added;
}

std::uint64_t KnownNodes::add_source(std::size_t source, const FileState& state, std::optional<std::uint64_t> number) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t given = number.value_or(static_cast<std::uint64_t>(NodeKind::kMirrored) << kValueBits | next_++);
  add({.number = given, .source = source, .path = {}, .type = MirroredType::kDirectory, .state = state});
  rows_[given].lookups = 1;
  return given;
}

KnownNodes::Pointer KnownNodes::look_up_and_reference(std::size_t source, const std::string& path, MirroredType type,
                                                      const FileState& state, const timespec& now) {
  const std::lock_guard lock(mutex_);
  const auto known = newest_.find({source, path});
  Pointer node = known == newest_.end() ? nullptr : known->second;
  if (node == nullptr || !is_still(*node, type, state)) {
    const std::uint64_t number = static_cast<std::uint64_t>(NodeKind::kMirrored) << kValueBits | next_++;
    node = add({number, source, path, type, state, state.is_settled(now)});
  }
  ++rows_[node->number].lookups;
  return node;
}

KnownNodes::Pointer KnownNodes::find(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(number);
  return row == rows_.end() ? nullptr : row->second.node;
}

void KnownNodes::reference_inside(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(number);
  if (row != rows_.end()) ++row->second.inside;
}

bool KnownNodes::take_back(std::uint64_t number, std::uint64_t Row::*count, std::uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return false;
  Row& row = found->second;
  row.*count -= std::min(row.*count, lookups);
  if (row.lookups > 0 || row.inside > 0) return false;
  const auto newest = newest_.find(source_path(*row.node));
  if (newest != newest_.end() && newest->second == row.node) newest_.erase(newest);
  rows_.erase(found);
  return true;
}

std::size_t KnownNodes::size() const {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

}  // namespace recordfs
