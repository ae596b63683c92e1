#include "core/columns/value_columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/decoding/json_record.h"

namespace recordfs {
namespace {

constexpr std::size_t kDeepest = 16;      // of objects inside each other, and lists in lists
constexpr std::size_t kMostLists = 8;     // in each other
constexpr std::size_t kMostOthers = 100;  // names, for messages

Error column_error(Code code, std::string_view column, std::string_view what) {
  return {.code = code, .detail = fmt::format("column {} {}", printable(column), what)};
}
Error unlike_first_records(std::string_view column, std::string_view what) {
  return column_error(Code::kUnsupported, column,
                      fmt::format("{} the first 1,024 records (try: --scan-columns)", what));
}

std::string joined(std::string_view prefix, std::string_view name) { return fmt::format("{}{}", prefix, name); }

std::uint64_t size_of(std::int64_t number) {
  return number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
}

// Returns whether a double has exactly this integer.
bool is_exact(std::uint64_t size) { return size == 0 || size >> std::countr_zero(size) < std::uint64_t{1} << 53; }

// Returns whether a value is null, or has no values in it.
bool is_empty(const Value& value) {
  if (const auto* const list = std::get_if<Value::List>(&value.is)) return list->empty();
  if (const auto* const object = std::get_if<Value::Object>(&value.is)) {
    return std::ranges::all_of(*object, [](const Member& member) { return is_empty(member.value); });
  }
  return std::holds_alternative<std::monostate>(value.is);
}

// Returns whether parts of a message are wanted that is shown among the other members, as "type" and "decoded".
bool is_wanted_inline(const Member& member, const WantedParts& wanted) {
  const bool is_inline = member.name.empty() && std::holds_alternative<Message>(member.value.is);
  return is_inline && (wanted.member("type") || wanted.member("decoded"));
}

// The same of the parts of a value that are wanted.
bool is_empty(const Value& value, const WantedParts& wanted) {
  if (wanted.is_all()) return is_empty(value);
  if (const auto* const list = std::get_if<Value::List>(&value.is)) {
    return std::ranges::all_of(*list, [&](const Value& item) { return is_empty(item, wanted); });
  }
  const auto* const object = std::get_if<Value::Object>(&value.is);
  return object == nullptr || std::ranges::all_of(*object, [&](const Member& member) {
           const auto parts = wanted.member(member.name);
           return !is_wanted_inline(member, wanted) && (!parts || is_empty(member.value, *parts));
         });
}

// Returns whether a value is wanted, or has members that are.
bool has_wanted(const Value& value, const WantedParts& wanted) {
  if (wanted.is_all()) return true;
  if (const auto* const object = std::get_if<Value::Object>(&value.is)) {
    return std::ranges::any_of(*object, [&](const Member& member) {
      return is_wanted_inline(member, wanted) || wanted.member(member.name).has_value();
    });
  }
  const auto* const list = std::get_if<Value::List>(&value.is);
  return list != nullptr && std::ranges::any_of(*list, [&](const Value& item) { return has_wanted(item, wanted); });
}

// Returns whether a path would lead through a value, which is neither an object nor a list.
bool is_way(const Value& value, const WantedParts& wanted) {
  return !wanted.is_all() && !std::holds_alternative<Value::Object>(value.is) &&
         !std::holds_alternative<Value::List>(value.is);
}

Error out_of_range(std::string_view text) {
  return {.code = Code::kUnsupported, .detail = fmt::format("the number {} is out of range", printable(text))};
}

// REQUIRES: `text` is a number of JSON.
Result<Value> number_in(const std::string& text) {
  if (text.find_first_of(".eE") == std::string::npos) {
    if (const auto number = parse_number<std::int64_t>(text)) return Value{*number};
    if (const auto number = parse_number<std::uint64_t>(text)) return Value{*number};
    return out_of_range(text);
  }
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) return out_of_range(text);
  return Value{number};
}

Value value_of_word(std::string_view word) {
  using OfDouble = std::numeric_limits<double>;
  if (word == "null") return {};
  if (word == "NaN") return {OfDouble::quiet_NaN()};
  if (word == "Infinity") return {OfDouble::infinity()};
  if (word == "-Infinity") return {-OfDouble::infinity()};
  return {word == "true"};
}

// The result points into `json`, whose depth the parser has bounded. REQUIRES of the second: an object.
Result<Value> object_in(const JsonValue& json, const WantedParts& wanted);
Result<Value> value_in(const JsonValue& json, const WantedParts& wanted) {
  const bool has_parts = json.type == JsonType::kArray || json.type == JsonType::kObject;
  if (!has_parts && !wanted.is_all()) return Value{};
  switch (json.type) {
    case JsonType::kString: return Value{json.text};
    case JsonType::kNumber: return number_in(json.text);
    case JsonType::kWord: return value_of_word(json.text);
    case JsonType::kArray: {
      Value::List list;
      list.reserve(json.values.size());
      for (const JsonValue& item : json.values) {
        ASSIGN_OR_RETURN(auto value, value_in(item, wanted));
        list.push_back(std::move(value));
      }
      return Value{std::move(list)};
    }
    case JsonType::kObject: break;
  }
  return object_in(json, wanted);
}

Result<Value> object_in(const JsonValue& json, const WantedParts& wanted) {
  Value::Object object;
  object.reserve(json.values.size());
  for (const JsonValue* const member : members_of(json)) {
    Value value;
    if (const auto parts = wanted.member(member->key)) {
      ASSIGN_OR_RETURN(value, value_in(*member, *parts));
    }
    object.push_back({.name = member->key, .value = std::move(value)});
  }
  return Value{std::move(object)};
}

}  // namespace

Result<std::optional<JsonRecord>> json_record(Bytes record, const ColumnSelection& selection) {
  if (!may_be_json_object(record)) return std::optional<JsonRecord>();
  ASSIGN_OR_RETURN(auto tree, json_of_record(record));
  if (!tree || tree->type != JsonType::kObject) return std::optional<JsonRecord>();
  JsonRecord made{.tree = std::move(*tree)};
  ASSIGN_OR_RETURN(made.value, object_in(made.tree, selection.parts()));
  return std::optional(std::move(made));
}

// Notes what the values of the columns are.
class ValueColumns::Collector {
 public:
  explicit Collector(ValueColumns& columns) : columns_(columns), count_(columns.count_) {}

  Result<void> add_members(Column& parent, const Value::Object& object, const WantedParts& wanted,
                           std::size_t depth = 0) {
    if (depth > kDeepest) {
      return column_error(Code::kUnsupported, parent.path, "nests too deeply (try: JSON Lines, or only other columns)");
    }
    for (const Member& member : object) {
      if (is_wanted_inline(member, wanted)) return has_messages(parent.path);
      const auto& [name, value] = member;
      const auto parts = wanted.member(name);
      if (!parts) note_other(parent.prefix, name);
      if (parts && !parts->is_all() && is_empty(value, *parts)) note_others(parent.prefix, name, value);
      if (!parts || !has_wanted(value, *parts)) continue;
      if (name.find('\0') != std::string_view::npos) {
        return column_error(Code::kUnsupported, joined(parent.prefix, name), "has a NUL in its name");
      }
      Column& column = column_of(parent, name);
      if (count_ > SchemaLimits().fields)
        return Error{.code = Code::kLimit,
                     .detail = fmt::format("more than {} columns (try: --select)", SchemaLimits().fields)};
      if (is_empty(value, *parts)) {
        TRY(add_empty(column, value, *parts, depth));
      } else {
        TRY(add_value(column, value, *parts, depth));
      }
    }
    return {};
  }

 private:
  static Error has_messages(std::string_view path) {
    if (path.ends_with('.')) path.remove_suffix(1);  // the name of the message
    const std::string owner = path.empty() ? "each record" : fmt::format("column {}", printable(path));
    return {.code = Code::kUnsupported,
            .detail = owner +
                      " has messages of types of their own, which tables cannot have (try: JSON Lines of all "
                      "columns)"};
  }

  void note_other(std::string_view prefix, std::string_view name) {
    auto& others = columns_.others_;
    if (name.empty() || others.size() >= kMostOthers) return;
    std::string path = joined(prefix, name);
    if (std::ranges::find(others, path) == others.end()) others.push_back(std::move(path));
  }

  // Notes a member in which nothing is wanted, and what is in its objects.
  void note_others(std::string_view prefix, std::string_view name, const Value& value) {
    note_other(prefix, name);
    if (const auto* const object = std::get_if<Value::Object>(&value.is)) {
      for (const Member& member : *object) note_other(fmt::format("{}{}.", prefix, name), member.name);
    } else if (const auto* const list = std::get_if<Value::List>(&value.is)) {
      for (const Value& item : *list) {
        if (std::holds_alternative<Value::Object>(item.is)) note_others(prefix, name, item);
      }
    }
  }

  Column& column_of(Column& parent, std::string_view name) {
    const auto [at, is_new] = parent.names.try_emplace(std::string(name), parent.columns.size());
    if (is_new) {
      ++count_;
      Column& made = parent.columns.emplace_back();
      made.path = joined(parent.prefix, name);
      made.prefix = made.path + ".";
    }
    return parent.columns[at->second];
  }

  // Adds the columns of objects without values.
  Result<void> add_empty(Column& column, const Value& value, const WantedParts& wanted, std::size_t depth,
                         std::size_t lists = 0) {
    if (const auto* const list = std::get_if<Value::List>(&value.is)) {
      column.most_empty_lists = std::max(column.most_empty_lists, lists + 1);
      TRY(check_list(column, lists + 1, depth));
      for (const Value& item : *list) TRY(add_empty(column, item, wanted, depth_in_list(depth, lists), lists + 1));
    }
    const auto* const object = std::get_if<Value::Object>(&value.is);
    if (object == nullptr) return {};
    column.has_empty_objects = true;
    return add_members(column, *object, wanted, depth + 1);
  }

  // Fails if the innermost one of some lists in each other is too deep.
  static Result<void> check_list(const Column& column, std::size_t lists, std::size_t depth) {
    if (lists <= kMostLists && depth <= kDeepest) return {};
    return column_error(
        Code::kUnsupported, column.path,
        fmt::format("has more than {} lists in each other (try: JSON Lines, or only other columns)", kMostLists));
  }

  // Returns the depth of what is in a list, which is in `lists` others: those count as the objects do.
  static std::size_t depth_in_list(std::size_t depth, std::size_t lists) { return depth + (lists > 0 ? 1 : 0); }

  // Adds a value that `lists` lists are around.
  Result<void> add_value(Column& column, const Value& value, const WantedParts& wanted, std::size_t depth,
                         std::size_t lists = 0) {
    if (is_way(value, wanted) || std::holds_alternative<std::monostate>(value.is)) return {};
    if (const auto* const list = std::get_if<Value::List>(&value.is)) {
      column.most_lists = std::max(column.most_lists, lists + 1);
      TRY(check_list(column, lists + 1, depth));
      for (const Value& item : *list) TRY(add_value(column, item, wanted, depth_in_list(depth, lists), lists + 1));
      return {};
    }
    column.has_several_depths = column.has_several_depths || column.lists.value_or(lists) != lists;
    column.lists = lists;
    return add_single(column, value, wanted, depth);
  }

  Result<void> add_single(Column& column, const Value& value, const WantedParts& wanted, std::size_t depth) {
    if (std::holds_alternative<Message>(value.is)) {
      return has_messages(column.path);
    }
    if (const auto* const object = std::get_if<Value::Object>(&value.is)) {
      column.has_objects = true;
      return add_members(column, *object, wanted, depth + 1);
    }
    if (std::holds_alternative<bool>(value.is)) column.has_bools = true;
    if (std::holds_alternative<double>(value.is)) column.has_fractions = true;
    if (std::holds_alternative<std::string>(value.is)) column.has_texts = true;
    if (std::holds_alternative<Bytes>(value.is)) column.has_bytes = true;
    if (const auto* const number = std::get_if<std::int64_t>(&value.is)) {
      note_integer(column, size_of(*number), *number < 0);
    } else if (const auto* const large = std::get_if<std::uint64_t>(&value.is)) {
      note_integer(column, *large, false);
    }
    return {};
  }

  static void note_integer(Column& column, std::uint64_t size, bool is_negative) {
    column.has_integers = true;
    column.has_negative = column.has_negative || is_negative;
    column.has_large = column.has_large || (!is_negative && size > INT64_MAX);
    column.has_inexact = column.has_inexact || !is_exact(size);
  }

  ValueColumns& columns_;
  std::size_t& count_;
};

Result<void> ValueColumns::add(const Value& record) {
  const auto* const object = std::get_if<Value::Object>(&record.is);
  if (object == nullptr) return Error{.code = Code::kUnsupported, .detail = "the records are no objects"};
  return Collector(*this).add_members(root_, *object, selection_.parts());
}

Result<FieldType> ValueColumns::type_of(const Column& column) {
  const bool has_numbers = column.has_integers || column.has_fractions;
  const std::array kinds{column.has_bools, has_numbers, column.has_texts, column.has_bytes, column.has_objects};
  const std::size_t lists = column.lists.value_or(kMostLists);
  const bool has_deeper = column.most_lists > lists || column.most_empty_lists > std::max<std::size_t>(lists, 1);
  if (std::ranges::count(kinds, true) > 1 || column.has_several_depths || has_deeper) {
    return column_error(Code::kUnsupported, column.path, "has values of different types");
  }
  if (column.has_fractions && column.has_inexact) {
    return column_error(Code::kUnsupported, column.path, "has fractions, and integers that are not exactly a double");
  }
  if (column.has_large && column.has_negative && !column.has_fractions) {
    return column_error(Code::kUnsupported, column.path, "has negative integers, and integers above 2^63 - 1");
  }
  if (column.has_bools) return FieldType::kBool;
  if (column.has_fractions) return FieldType::kDouble;
  if (column.has_integers) return column.has_large ? FieldType::kUint64 : FieldType::kInt64;
  if (column.has_texts) return FieldType::kString;
  if (column.has_bytes) return FieldType::kBytes;
  const bool has_objects = column.has_objects || column.has_empty_objects || !column.columns.empty();
  return has_objects ? FieldType::kMessage : FieldType::kString;
}

Result<std::vector<MessageField>> ValueColumns::fields_of(Column& parent) {
  std::vector<MessageField> fields;
  fields.reserve(parent.columns.size());
  for (const auto& [name, index] : parent.names) {
    parent.columns[index].field = {.name = name, .number = static_cast<std::uint32_t>(index + 1)};
  }
  for (Column& column : parent.columns) {
    ASSIGN_OR_RETURN(column.field.type, type_of(column));
    const std::size_t lists = column.lists.value_or(std::max(column.most_lists, column.most_empty_lists));
    column.field.is_repeated = lists > 0;
    column.field.inner_lists = static_cast<std::uint8_t>(lists > 0 ? lists - 1 : 0);
    column.field.has_presence = true;
    MessageField& field = fields.emplace_back(column.field);
    if (field.type != FieldType::kMessage) continue;
    ASSIGN_OR_RETURN(field.fields, fields_of(column));
  }
  return fields;
}

void ValueColumns::add_paths(const Column& parent, std::vector<std::string>& paths) const {
  for (const Column& column : parent.columns) {
    paths.push_back(column.path);
    if (selection_.has_dots()) add_paths(column, paths);
  }
}

Result<std::vector<MessageField>> ValueColumns::finish() {
  std::vector<std::string> names = others_;
  add_paths(root_, names);
  if (!names.empty()) TRY(selection_.check(names));
  if (root_.columns.empty()) return Error{.code = Code::kUnsupported, .detail = "the records have no values"};
  return fields_of(root_);
}

// Appends records as rows.
class ValueColumns::Appender {
 public:
  static Result<void> append_members(ColumnBuilder& builder, const Column& parent, const Value::Object& object,
                                     const WantedParts& wanted) {
    std::vector<bool> seen(parent.columns.size());
    for (const auto& [name, value] : object) {
      const auto parts = wanted.member(name);
      if (!parts) continue;
      const auto known = parent.names.find(name);
      if (known == parent.names.end()) {
        if (is_empty(value, *parts)) continue;
        return unlike_first_records(joined(parent.prefix, name), "does not occur in");
      }
      const Column& column = parent.columns[known->second];
      if (seen[known->second]) return column_error(Code::kUnsupported, column.path, "occurs twice in a record");
      seen[known->second] = true;
      ColumnBuilder& values = builder.child_at(known->second);
      if (!fits(column, value) && is_empty(value, *parts)) {
        TRY(values.append_null());
      } else {
        TRY(append(values, column, value, *parts, lists_of(column)));
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) TRY(builder.child_at(i).append_null());
    }
    builder.complete_row();
    return {};
  }

 private:
  static std::size_t lists_of(const Column& column) {
    return column.field.is_repeated ? column.field.inner_lists + std::size_t{1} : 0;
  }

  // Returns whether the value is a list or an object, as the column wants it.
  static bool fits(const Column& column, const Value& value) {
    if (std::holds_alternative<Value::List>(value.is)) return column.field.is_repeated;
    const bool is_object = !column.field.is_repeated && column.field.type == FieldType::kMessage;
    return is_object && std::holds_alternative<Value::Object>(value.is);
  }

  static Error unlike(const Column& column) { return unlike_first_records(column.path, "has another type than in"); }

  // Appends a value that this number of lists must have.
  static Result<void> append(ColumnBuilder& builder, const Column& column, const Value& value,
                             const WantedParts& wanted, std::size_t lists) {
    if (is_way(value, wanted) || std::holds_alternative<std::monostate>(value.is)) return builder.append_null();
    if (lists == 0) return append_single(builder, column, value, wanted);
    const auto* const list = std::get_if<Value::List>(&value.is);
    if (list == nullptr) return unlike(column);
    for (const Value& item : *list) TRY(append(builder.items(), column, item, wanted, lists - 1));
    return builder.append_list();
  }

  static Result<void> append_single(ColumnBuilder& builder, const Column& column, const Value& value,
                                    const WantedParts& wanted) {
    switch (column.field.type) {
      case FieldType::kBool: {
        const auto* const is = std::get_if<bool>(&value.is);
        return is == nullptr ? unlike(column) : builder.append_number(*is ? 1 : 0);
      }
      case FieldType::kInt64:
      case FieldType::kUint64: return append_integer(builder, column, value);
      case FieldType::kDouble: return append_double(builder, column, value);
      case FieldType::kString: {
        const auto* const text = std::get_if<std::string>(&value.is);
        return text == nullptr ? unlike(column) : builder.append_text(as_bytes(*text));
      }
      case FieldType::kMessage: {
        const auto* const object = std::get_if<Value::Object>(&value.is);
        if (object != nullptr) return append_object(builder, column, *object, wanted);
        return has_wanted(value, wanted) ? unlike(column) : builder.append_null();
      }
      default: break;
    }
    const auto* const bytes = std::get_if<Bytes>(&value.is);
    return bytes == nullptr ? unlike(column) : builder.append_text(*bytes);
  }

  static Result<void> append_object(ColumnBuilder& builder, const Column& column, const Value::Object& object,
                                    const WantedParts& wanted) {
    if (!column.columns.empty()) return append_members(builder, column, object, wanted);
    for (const auto& [name, value] : object) {
      const auto parts = wanted.member(name);
      if (parts && !is_empty(value, *parts)) {
        return unlike_first_records(joined(column.prefix, name), "does not occur in");
      }
    }
    return builder.append_number(1);
  }

  static Result<void> append_integer(ColumnBuilder& builder, const Column& column, const Value& value) {
    const bool is_signed = column.field.type == FieldType::kInt64;
    if (const auto* const number = std::get_if<std::int64_t>(&value.is)) {
      if (!is_signed && *number < 0) return unlike(column);
      return builder.append_number(static_cast<std::uint64_t>(*number));
    }
    const auto* const number = std::get_if<std::uint64_t>(&value.is);
    if (number == nullptr || (is_signed && *number > INT64_MAX)) return unlike(column);
    return builder.append_number(*number);
  }

  static Result<void> append_double(ColumnBuilder& builder, const Column& column, const Value& value) {
    double number = 0;
    if (const auto* const fraction = std::get_if<double>(&value.is)) {
      number = *fraction;
    } else if (const auto* const integer = std::get_if<std::int64_t>(&value.is);
               integer != nullptr && is_exact(size_of(*integer))) {
      number = static_cast<double>(*integer);
    } else if (const auto* const large = std::get_if<std::uint64_t>(&value.is); large != nullptr && is_exact(*large)) {
      number = static_cast<double>(*large);
    } else {
      return unlike(column);
    }
    return builder.append_number(std::bit_cast<std::uint64_t>(number));
  }
};

Result<void> ValueColumns::append(ColumnBuilder& builder, const Value& record) const {
  const auto* const object = std::get_if<Value::Object>(&record.is);
  if (object == nullptr) return Error{.code = Code::kUnsupported, .detail = "the record is no object"};
  return Appender::append_members(builder, root_, *object, selection_.parts());
}

}  // namespace recordfs
