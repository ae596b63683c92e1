#include "core/decoding/field_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/similar_names.h"
#include "core/base/utf8.h"
#include "core/decoding/json_filter.h"
#include "core/decoding/message_schema.h"

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
    path_ += '.';
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
    std::string name = path_.substr(1);
    names.insert(is_example_ ? feature_name(std::move(name)) : name);
  }

  bool is_example_ = false;
  std::string path_;  // of the next value, with a dot before each name
  std::vector<Level> open_;
};

}  // namespace

std::string feature_name(std::string path) {
  constexpr std::array<std::string_view, 3> kPlaces = {"features.feature.", "context.feature.",
                                                       "feature_lists.feature_list."};
  constexpr std::array<std::string_view, 3> kLists = {".int64_list.value", ".float_list.value", ".bytes_list.value"};
  for (const std::string_view place : kPlaces) {
    if (!path.starts_with(place)) continue;
    path.erase(0, place.size());
    for (const std::string_view list : kLists) {
      if (has_suffix(path, list)) break;
    }
    if (place == kPlaces.back()) has_suffix(path, ".feature");
    break;
  }
  return path;
}

namespace {

// Returns whether a path is that of a field. The depth of types is bounded.
bool has_field(const std::vector<MessageField>& message, std::string_view path) {
  return std::ranges::any_of(message, [path](const MessageField& field) {
    if (!path.starts_with(field.name)) return false;
    const std::string_view rest = path.substr(field.name.size());
    return rest.empty() || (rest.front() == '.' && has_field(field.fields, rest.substr(1)));
  });
}

}  // namespace

std::string no_field(std::string_view name, const std::set<std::string>& present) {
  const std::vector<std::string> all(present.begin(), present.end());
  const std::vector<std::string_view> names(all.begin(), all.end());
  std::string hint = "recordfs cat --json shows the fields";
  if (!all.empty()) hint = fmt::format("the nearest are {}", nearest_names(name, all));
  if (const std::string similar = similar_names(name, names); !similar.empty()) {
    hint = fmt::format("did you mean {}?", printable(similar));
  }
  for (const std::string& value : all) {
    const std::string inside = value + ".";
    const bool has_fields =
        std::ranges::any_of(all, [&](const std::string& other) { return other.starts_with(inside); });
    if (name.starts_with(inside) && !has_fields) hint = fmt::format("{} is a value", printable(value));
  }
  return fmt::format("no record has a field {} ({})", printable(name), hint);
}

void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields) {
  if (!fields.wants_names()) return;
  const auto declared = decoder.fields(context, chunk).value_or(std::vector<MessageField>());
  for (std::size_t field = 0; field < fields.fields().size(); ++field) {
    if (has_field(declared, fields.fields()[field])) fields.declare(field);
  }
  if (record.size() > kLargestRecord || !fields.wants_names()) return;
  NameCollector collector;
  JsonFilter filter(collector);
  const bool is_decoded = decoder.visit(context, chunk, record, filter).has_value();
  fields.note_names(is_decoded ? std::move(collector.names) : std::set<std::string>());
}

}  // namespace recordfs
