#include "core/columns/column_visitor.h"

#include <utility>
#include <variant>

#include "core/decoding/field_names.h"

namespace recordfs {

void ColumnVisitor::restart(bool is_new) {
  if (is_new) {
    ++record_;
    with_objects_.clear();
  }
  open_.clear();
  named_ = 0;
  root_ = 0;
  has_unnamed_ = false;
}

void ColumnVisitor::count_objects() {
  for (const std::size_t number : with_objects_) {
    Node& node = nodes_[number];
    if (node.last_value != record_) ++node.objects;
  }
  with_objects_.clear();
}

std::string ColumnVisitor::name_of(const Node& node) {
  return node.is_in_example ? feature_name(node.path) : node.path;
}

std::size_t ColumnVisitor::next_node() const {
  if (open_.empty()) return root_;
  return open_.back().is_list ? open_.back().node : named_;
}

std::size_t ColumnVisitor::child_of(std::size_t node, std::string_view name) {
  if (node == kNone) return kNone;
  auto& children = nodes_[node].children;
  if (const auto known = children.find(name); known != children.end()) return known->second;
  const bool is_root = node == root_;
  const std::string& parent = nodes_[node].path;
  const std::size_t size = parent.size() + 1 + name.size();
  if (nodes_.size() > kMostNodes || size > kMostNames - name_bytes_) {
    has_too_many_ = true;
    return kNone;
  }
  name_bytes_ += size;
  Node child{.path = is_root ? std::string(name) : parent + "." + std::string(name),
             .is_in_example = nodes_[node].is_in_example,
             .way = way_after(nodes_[node].way, name)};
  children.emplace(name, nodes_.size());
  nodes_.push_back(std::move(child));
  return nodes_.size() - 1;
}

void ColumnVisitor::name(std::string_view name) {
  if (open_.empty()) return;
  open_.back().is_empty = false;
  named_ = child_of(open_.back().node, name);
}

void ColumnVisitor::begin(bool is_list) {
  const bool is_in_list = is_list || (!open_.empty() && open_.back().is_in_list);
  const bool is_inner = is_list && !open_.empty() && open_.back().is_list;
  const std::size_t node = next_node();
  if (!open_.empty()) open_.back().is_empty = false;
  open_.push_back({.node = node, .is_list = is_list, .is_in_list = is_in_list, .is_inner = is_inner});
}

void ColumnVisitor::end() {
  const Level level = open_.back();
  open_.pop_back();
  if (open_.empty() || level.node == kNone) return;
  Node& node = nodes_[level.node];
  Place place{.is_in_list = level.is_in_list, .is_element = is_element() && (level.is_inner || !level.is_list)};
  if (!level.is_empty && !level.is_list && !node.is_in_example) {
    if (node.last_object != record_) with_objects_.push_back(level.node);
    node.last_object = record_;
  } else if (!level.is_empty) {
    if (level.is_inner && place.is_element && node.column != kNone) pass_on(level.node, place, {});
  } else if (level.is_list || name_of(node) != node.path) {  // or a feature of no kind
    pass_on(level.node, place, {});
  } else if (!node.is_in_example) {
    place.is_object = true;
    pass_on(level.node, place, true);
  }
}

void ColumnVisitor::take(const Scalar& value) {
  const std::size_t node = next_node();
  const bool is_item = !open_.empty() && open_.back().is_list;
  const bool is_null = std::holds_alternative<std::monostate>(value);
  if (!open_.empty()) open_.back().is_empty = false;
  pass_on(
      node,
      {.is_in_list = !open_.empty() && open_.back().is_in_list, .is_element = is_element() && (is_item || !is_null)},
      value);
}

bool ColumnVisitor::find_column(Node& node) {
  std::string name = name_of(node);
  node.is_feature = name.size() < node.path.size() && !node.path.starts_with("feature_lists.");
  // A feature has a node for each type of its values.
  if (name.size() < node.path.size()) {
    node.way = way_after(node.path.starts_with("features.") ? 1 : node.path.find('.'), name);
  }
  const auto known = columns_.find(name);
  if (known == columns_.end() && names_.size() == kMostColumns) {
    has_too_many_ = true;
    return false;
  }
  node.column = known == columns_.end() ? names_.size() : known->second;
  if (known == columns_.end()) {
    names_.push_back(name);
    ways_.push_back(node.way);
    columns_.emplace(std::move(name), node.column);
  } else if (ways_[node.column] != node.way) {
    ways_[node.column] = 0;
  }
  return true;
}

void ColumnVisitor::pass_on(std::size_t number, Place place, const Scalar& value) {
  if (number == kNone) return;
  if (number == root_) {
    const bool is_value = !std::holds_alternative<std::monostate>(value) && !place.is_object;
    has_unnamed_ = has_unnamed_ || open_.empty() || is_value;
    return;
  }
  Node& node = nodes_[number];
  if (node.column == kNone && !find_column(node)) return;
  if (!std::holds_alternative<std::monostate>(value)) node.last_value = record_;
  const bool is_one = node.is_feature && !std::holds_alternative<std::monostate>(value);
  place.is_in_list = place.is_in_list && !is_one;
  take_value(node.column, place, value);
}

}  // namespace recordfs
