#include "core/columns/column_visitor.h"

#include <utility>
#include <variant>

#include "core/decoding/field_names.h"

namespace recordfs {

void ColumnVisitor::restart() {
  open_.clear();
  named_ = 0;
  root_ = 0;
}

std::size_t ColumnVisitor::next_node() const {
  if (open_.empty()) return root_;
  return open_.back().is_list ? open_.back().node : named_;
}

std::size_t ColumnVisitor::child_of(std::size_t node, std::string_view name) {
  if (node == kNone) return kNone;
  auto& children = nodes_[node].children;
  if (const auto known = children.find(name); known != children.end()) return known->second;
  const std::string& parent = nodes_[node].path;
  const std::size_t size = parent.size() + 1 + name.size();
  if (nodes_.size() > kMostNodes || size > kMostNames - name_bytes_) {
    has_too_many_ = true;
    return kNone;
  }
  name_bytes_ += size;
  Node child{.path = parent.empty() ? std::string(name) : parent + "." + std::string(name),
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
  const std::size_t node = next_node();
  if (!open_.empty()) open_.back().is_empty = false;
  open_.push_back({.node = node, .is_list = is_list, .is_in_list = is_in_list});
}

void ColumnVisitor::end() {
  const Level level = open_.back();
  open_.pop_back();
  if (!level.is_empty || open_.empty() || level.node == kNone) return;
  // An empty object is no value, unless it is a feature of no kind.
  const Node& node = nodes_[level.node];
  const bool is_feature = node.is_in_example && feature_name(node.path).size() < node.path.size();
  if (level.is_list || is_feature) pass_on(level.node, level.is_in_list, {});
}

void ColumnVisitor::take(const Scalar& value) {
  const std::size_t node = next_node();
  if (!open_.empty()) open_.back().is_empty = false;
  pass_on(node, !open_.empty() && open_.back().is_in_list, value);
}

bool ColumnVisitor::find_column(Node& node) {
  std::string name = node.is_in_example ? feature_name(node.path) : node.path;
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

void ColumnVisitor::pass_on(std::size_t number, bool is_in_list, const Scalar& value) {
  if (number == kNone) return;
  Node& node = nodes_[number];
  if (node.column == kNone && !find_column(node)) return;
  const bool is_one = node.is_feature && !std::holds_alternative<std::monostate>(value);
  take_value(node.column, is_in_list && !is_one, value);
}

}  // namespace recordfs
