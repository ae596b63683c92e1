#include "core/columns/selected_columns.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostPaths = 64;  // to one name

bool is_list(const ArrowField& field) { return field.format == "+L"; }
bool is_struct(const ArrowField& field) { return field.format == "+s"; }

// Returns the type of the items of lists in lists, or the field itself.
const ArrowField& innermost(const ArrowField& field) {
  const ArrowField* item = &field;
  while (is_list(*item)) item = &item->children.front();
  return *item;
}

std::int64_t offset_at(const Slice& offsets, std::int64_t index) {
  std::int64_t offset = 0;
  std::memcpy(&offset, offsets.bytes.data() + static_cast<std::size_t>(index) * sizeof offset, sizeof offset);
  return offset;
}

// Returns the offsets of lists of all items in lists of lists.
Slice joined_offsets(const Slice& outer, const Slice& inner) {
  std::vector<std::int64_t> joined(outer.bytes.size() / sizeof(std::int64_t));
  for (std::size_t i = 0; i < joined.size(); ++i) {
    joined[i] = offset_at(inner, offset_at(outer, static_cast<std::int64_t>(i)));
  }
  return buffer_of(std::move(joined));
}

// Makes a value null if the struct that it is in is null.
void hide_in_null(const ArrowColumn& parent, ArrowColumn& child) {
  if (parent.null_count == 0 || parent.buffers.front().owner == nullptr) return;
  const Bytes outer = parent.buffers.front().bytes;
  const Bytes inner = child.buffers.front().owner == nullptr ? Bytes() : child.buffers.front().bytes;
  std::vector<std::uint8_t> both((static_cast<std::size_t>(child.length) + 7) / 8);
  std::int64_t valid = 0;
  for (std::size_t i = 0; i < both.size(); ++i) {
    both[i] = std::to_integer<std::uint8_t>(inner.empty() ? outer[i] : outer[i] & inner[i]);
    const std::size_t rest = static_cast<std::size_t>(child.length) - i * 8;
    if (rest < 8) both[i] = static_cast<std::uint8_t>(both[i] & ((1u << rest) - 1));
    valid += std::popcount(both[i]);
  }
  child.null_count = child.length - valid;
  child.buffers.front() = buffer_of(std::move(both));
}

// Follows a path from a column to one inside.
class Follower {
 public:
  Follower(const ArrowField& field, ArrowColumn column) : field_(&field), column_(std::move(column)) {}

  // Enters a child of the structs, or of those in lists.
  void enter(std::size_t child) {
    enter_lists();
    ArrowColumn inside = std::move(column_.children[child]);
    field_ = &field_->children[child];
    // Lists that cannot be null are empty there.
    if (field_->is_nullable) hide_in_null(column_, inside);
    column_ = std::move(inside);
  }

  ArrowColumn finish() {
    if (!lists_) return std::move(column_);
    enter_lists();
    lists_->children.push_back(std::move(column_));
    return std::move(*lists_);
  }

 private:
  void enter_lists() {
    while (is_list(*field_)) {
      ArrowColumn items = std::move(column_.children.front());
      column_.children.clear();
      if (lists_) {
        lists_->buffers[1] = joined_offsets(lists_->buffers[1], column_.buffers[1]);
      } else {
        lists_ = std::move(column_);
      }
      column_ = std::move(items);
      field_ = &field_->children.front();
    }
  }

  const ArrowField* field_;
  ArrowColumn column_;
  std::optional<ArrowColumn> lists_;  // without the items, which column_ has
};

}  // namespace

// Finds the fields that a name leads to.
class SelectedColumns::Finder {
 public:
  std::vector<Selected> find(const ArrowField& root, std::string_view name) {
    name_ = name;
    add(root, name);
    return std::move(found_);
  }

 private:
  // The depth of types is bounded.
  void add(const ArrowField& parent, std::string_view rest) {
    for (std::size_t i = 0; i < parent.children.size() && found_.size() < kMostPaths; ++i) {
      const ArrowField& child = parent.children[i];
      if (!rest.starts_with(child.name)) continue;
      const std::string_view inside = rest.substr(child.name.size());
      const ArrowField* const before = list_;
      if (list_ == nullptr && is_list(child)) list_ = &child;
      way_.push_back(i);
      if (inside.empty()) {
        found_.push_back({.field = column_of(child), .path = way_});
      } else if (inside.front() == '.' && is_struct(innermost(child))) {
        add(innermost(child), inside.substr(1));
      }
      way_.pop_back();
      list_ = before;
    }
  }

  ArrowField column_of(const ArrowField& leaf) const {
    ArrowField made = leaf;
    if (list_ != nullptr && list_ != &leaf) {
      made = {.format = "+L", .is_nullable = list_->is_nullable, .children = {innermost(leaf)}};
      made.children.front().name = "item";
    }
    made.name = name_;
    return made;
  }

  std::string_view name_;
  std::vector<std::size_t> way_;
  const ArrowField* list_ = nullptr;  // the first one on the way
  std::vector<Selected> found_;
};

Result<SelectedColumns> SelectedColumns::of(ArrowField root, const ColumnSelection& selection) {
  SelectedColumns columns;
  columns.root_ = root;
  if (selection.is_all()) return columns;
  columns.root_.children.clear();
  for (const std::string& name : selection.names()) {
    auto found = Finder().find(root, name);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const ArrowField& field : root.children) names.push_back(field.name);
      TRY(selection.check(names));
    }
    if (found.size() != 1) {
      return Error{.code = Code::kUnsupported,
                   .detail = fmt::format("{} names several columns, because names have dots", printable(name))};
    }
    columns.root_.children.push_back(found.front().field);
    columns.selected_.push_back(std::move(found.front()));
  }
  columns.whole_ = std::move(root);
  return columns;
}

ArrowColumn SelectedColumns::select(ArrowColumn rows) const {
  if (selected_.empty()) return rows;
  std::vector<ArrowColumn> wanted;
  wanted.reserve(selected_.size());
  for (const Selected& one : selected_) {
    const std::size_t column = one.path.front();
    Follower follower(whole_.children[column], rows.children[column]);
    for (std::size_t i = 1; i < one.path.size(); ++i) follower.enter(one.path[i]);
    wanted.push_back(follower.finish());
  }
  rows.children = std::move(wanted);
  return rows;
}

}  // namespace recordfs
