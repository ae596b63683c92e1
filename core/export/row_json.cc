#include "core/export/row_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/formats/tensorflow_example.h"
#include "core/formats/value.h"

namespace recordfs {
namespace {

constexpr std::string_view kMarkOfBytes = "\"\\ud800";

void append_bytes(std::string& json, Bytes bytes, ByteForm form) {
  if (form == ByteForm::kAuto && is_utf8(as_text(bytes))) return append_json_string(json, as_text(bytes));
  JsonWriter(json).encoded(bytes, form == ByteForm::kHex ? ByteForm::kHex : ByteForm::kBase64);
}

// Returns the end of the string that begins at a quotation mark.
std::size_t end_of_string(std::string_view json, std::size_t begin) {
  std::size_t at = json.find_first_of("\"\\", begin + 1);
  while (at < json.size() && json[at] == '\\') at = json.find_first_of("\"\\", at + 2);
  return std::min(at, json.size() - 1) + 1;
}

void append_value(JsonWriter& writer, const Value& value, ByteForm form, std::string_view column, MixedBytes* mixed) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.is)) return writer.number(*integer);
  if (const auto* const bytes = std::get_if<Bytes>(&value.is)) {
    if (form == ByteForm::kAuto && mixed != nullptr) mixed->note(column, *bytes);
    if (form == ByteForm::kAuto && is_utf8(as_text(*bytes))) return writer.string(as_text(*bytes));
    std::string encoded;
    append_bytes(encoded, *bytes, form);
    return writer.literal(encoded);
  }
  const double number = std::get<double>(value.is);
  if (std::isfinite(number)) return writer.number(number);
  writer.string(std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
}

// Returns the only member of an object; null if there is none.
const Value* only_member(const Value& value) {
  const auto* const members = std::get_if<Value::Object>(&value.is);
  return members == nullptr || members->empty() ? nullptr : &members->front().value;
}

// Returns the names that lead to a value, joined by dots.
std::string path_of(const std::vector<std::string_view>& quoted_keys) {
  std::string path;
  for (std::string_view key : quoted_keys) {
    if (key.empty()) continue;
    if (!path.empty()) path += '.';
    path += key.substr(1, key.size() - 2);
  }
  return path;
}

Error no_columns() { return {.code = Code::kDamage, .detail = "no columns, unlike other records"}; }

// Returns the members of an object, each as `"name":value`.
std::vector<std::string_view> members_of(std::string_view object) {
  std::vector<std::string_view> members;
  std::size_t depth = 0;
  std::size_t begin = 1;
  for (std::size_t at = 1; at < object.size();) {
    const char c = object[at];
    const bool is_end = depth == 0 && (c == ',' || c == '}');
    if (is_end && at > begin) members.push_back(object.substr(begin, at - begin));
    if (is_end) begin = at + 1;
    if (c == '{' || c == '[') ++depth;
    if (depth > 0 && (c == '}' || c == ']')) --depth;
    at = c == '"' ? end_of_string(object, at) : at + 1;
  }
  return members;
}

}  // namespace

void append_untyped(std::string& json, std::string_view typed, ByteForm form, MixedBytes* mixed) {
  std::vector<std::string_view> keys{{}};  // of the open objects, quoted
  for (std::size_t at = 0; at < typed.size();) {
    const std::size_t special = std::min(typed.find_first_of("\"NI{}", at), typed.size());
    json += typed.substr(at, special - at);
    at = special;
    if (at == typed.size()) return;
    if (typed[at] == '{' || typed[at] == '}') {
      if (typed[at] == '{') {
        keys.emplace_back();
      } else if (keys.size() > 1) {
        keys.pop_back();
      }
      json += typed[at++];
      continue;
    }
    if (typed[at] != '"') {  // NaN or Infinity, or the latter after a minus
      const std::size_t end = std::min(typed.find_first_of(",]}", at), typed.size());
      const bool is_negative = json.ends_with('-');
      if (is_negative) json.pop_back();
      json += fmt::format("\"{}{}\"", is_negative ? "-" : "", typed.substr(at, end - at));
      at = end;
      continue;
    }
    const std::size_t end = end_of_string(typed, at);
    const std::string_view string = typed.substr(at, end - at);
    if (string.starts_with(kMarkOfBytes)) {
      const std::string_view encoded = string.substr(kMarkOfBytes.size(), string.size() - kMarkOfBytes.size() - 1);
      const std::string bytes = decoded_base64(encoded);
      if (form == ByteForm::kAuto && mixed != nullptr) mixed->note(path_of(keys), as_bytes(bytes));
      append_bytes(json, as_bytes(bytes), form);
    } else {
      json += string;
      if (end < typed.size() && typed[end] == ':') keys.back() = string;
    }
    at = end;
  }
}

RowReader::RowReader(std::shared_ptr<const RecordStore> store, const UserTypes& types, const Limits& limits,
                     RowForm form)
    : store_(std::move(store)),
      limits_(limits),
      form_(std::move(form)),
      decoder_(store_->schema(), store_->metadata(), types) {}

Result<std::string> RowReader::row_of_example(Bytes record) const {
  if (form_.schema != nullptr && tensorflow::is_empty_example(record)) return std::string("{}");
  ASSIGN_OR_RETURN(const auto value, tensorflow::value_of_example(record, limits_, ValueForm::kJson));
  if (tensorflow::type_of_example(value) != tensorflow::kExampleType) return no_columns();
  std::string row;
  JsonWriter writer(row, JsonLayout::kTyped);
  writer.begin_object();
  for (const auto& [name, feature] : std::get<Value::Object>(only_member(*only_member(value))->is)) {
    const auto column = form_.schema == nullptr ? std::optional(name) : form_.schema->column_of(name);
    if (!column) continue;
    const Value* const lists = only_member(feature);
    if (lists == nullptr) continue;
    const auto& values = std::get<Value::List>(only_member(*lists)->is);
    const bool is_list = form_.schema == nullptr || form_.schema->is_list(name);
    if (!is_list && values.size() > 1) return FeatureColumns::several_values(name);
    if (!is_list && values.empty()) continue;
    writer.name(*column);
    if (is_list) writer.begin_list();
    for (const Value& item : values) append_value(writer, item, form_.bytes, name, form_.mixed.get());
    if (is_list) writer.end_list();
  }
  writer.end_object();
  return row;
}

Result<void> RowReader::append(const RequestContext& context, const ChunkInfo& chunk, Bytes record,
                               std::string& json) const {
  const bool may_be_example = form_.schema == nullptr || form_.schema->has_features();
  auto typed = may_be_example ? row_of_example(record) : decoder_.row(context, chunk, record);
  const bool is_example = may_be_example && (typed || form_.schema != nullptr);
  if (may_be_example && !is_example) typed = decoder_.row(context, chunk, record);
  if (!may_be_example && typed && is_unexpected_example(context, record)) {
    typed = Error{.code = Code::kDamage, .detail = "a tensorflow.Example, unlike other records"};
  }
  const bool has_none = typed ? !typed->starts_with('{') : typed.error().code == Code::kNotFound;
  if (has_none || !typed) {
    Error why = has_none ? no_columns() : typed.error();
    why.position = chunk.begin;
    return why;
  }
  if (is_example) {
    append_selected(*typed, json);
    return {};
  }
  std::string row;
  append_selected(*typed, row);
  append_untyped(json, row, form_.bytes, form_.mixed.get());
  return {};
}

// Without a type, as one of several kinds that a format stores, an Example would be a row of its only field.
bool RowReader::is_unexpected_example(const RequestContext& context, Bytes record) const {
  const auto type = decoder_.type(context);
  return type && type->empty() && store_->schema().value && tensorflow::features_of_example(record, limits_);
}

Result<void> RowReader::check_no_columns(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const {
  if (!form_.selection.is_all()) return {};
  const auto typed = decoder_.row(context, chunk, record);
  if (typed && typed->starts_with('{')) {
    return Error{.code = Code::kUnsupported,
                 .position = chunk.begin,
                 .detail = "has columns, unlike the first records (try: --scan-columns, or --select ordinal,data)"};
  }
  const Code why = typed ? Code::kNotFound : typed.error().code;  // which a record without columns has
  return why == Code::kNotFound || is_permanent(why) ? Result<void>() : typed.error();
}

Result<void> RowReader::append_data(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t ordinal,
                                    Bytes record, std::string& json) const {
  TRY(check_no_columns(context, chunk, record));
  std::string row = fmt::format(R"({{"ordinal":{},"data":)", ordinal);
  if (form_.bytes == ByteForm::kAuto && form_.mixed != nullptr) form_.mixed->note("data", record);
  append_bytes(row, record, form_.bytes);
  append_selected(row += '}', json);
  return {};
}

void RowReader::append_selected(std::string_view row, std::string& json) const {
  if (form_.selection.is_all()) {
    json += row;
    return;
  }
  const auto members = members_of(row);
  json += '{';
  for (const std::string& name : form_.selection.names()) {
    std::string quoted;
    append_json_string(quoted, name);
    const auto found = std::ranges::find_if(
        members, [&](std::string_view member) { return member.starts_with(quoted) && member[quoted.size()] == ':'; });
    if (found == members.end()) continue;
    if (!json.ends_with('{')) json += ',';
    json += *found;
  }
  json += '}';
}

}  // namespace recordfs
