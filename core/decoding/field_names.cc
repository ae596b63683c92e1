#include "core/decoding/field_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/decoding/json_filter.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostNames = 4096;
constexpr std::uint64_t kLargestRecord = 4u << 20;  // bytes

bool has_suffix(std::string& path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

// Collects the names of the values in a record, whose nesting is bounded.
class NameCollector final : public ValueVisitor {
 public:
  void begin_record(bool is_example) override { is_example_ = is_example; }
  void name(std::string_view name) override {
    if (open_.empty()) return;
    path_.resize(open_.back().size);
    if (!path_.empty()) path_ += '.';
    path_ += name;
  }
  void begin(bool) override {
    note_member();
    open_.push_back({.size = path_.size()});
  }
  void end() override {
    path_.resize(open_.back().size);
    if (open_.back().is_empty) add();
    open_.pop_back();
  }
  void take(const Scalar&) override {
    note_member();
    add();
  }
  std::set<std::string> names{};

 private:
  struct Level {
    std::size_t size;  // of the path
    bool is_empty = true;
  };

  void note_member() {
    if (!open_.empty()) open_.back().is_empty = false;
  }
  void add() {
    if (path_.empty() || names.size() >= kMostNames) return;
    names.insert(is_example_ ? feature_name(path_) : path_);
  }

  bool is_example_ = false;
  std::string path_;  // of the next value
  std::vector<Level> open_;
};

}  // namespace

std::string feature_name(std::string path) {
  constexpr std::array<std::string_view, 3> kPlaces = {"features.feature.", "context.feature.",
                                                       "feature_lists.feature_list."};
  constexpr std::array<std::string_view, 3> kLists = {".int64_list.value", ".float_list.value", ".bytes_list.value"};
  for (const std::string_view place : kPlaces) {
    if (!path.starts_with(place)) continue;
    const auto is_path = [&path, place](std::string_view other) {
      return path.substr(place.size()).starts_with(other);
    };
    if (std::ranges::any_of(kPlaces, is_path)) break;
    path.erase(0, place.size());
    for (const std::string_view list : kLists) {
      if (has_suffix(path, list)) break;
    }
    if (place == kPlaces.back()) has_suffix(path, ".feature");
    break;
  }
  return path;
}

void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields) {
  if (record.size() > kLargestRecord || !fields.wants_names()) return;
  NameCollector collector;
  JsonFilter filter(collector);
  const bool is_decoded = decoder.visit(context, chunk, record, filter).has_value();
  fields.note_names(is_decoded ? std::move(collector.names) : std::set<std::string>());
}

}  // namespace recordfs
