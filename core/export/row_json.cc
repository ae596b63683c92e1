#include "core/export/row_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

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

void append_value(JsonWriter& writer, const Value& value, ByteForm form) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.is)) return writer.number(*integer);
  if (const auto* const bytes = std::get_if<Bytes>(&value.is)) {
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

}  // namespace

void append_untyped(std::string& json, std::string_view typed, ByteForm form) {
  for (std::size_t at = 0; at < typed.size();) {
    const std::size_t special = std::min(typed.find_first_of("\"NI", at), typed.size());
    json += typed.substr(at, special - at);
    at = special;
    if (at == typed.size()) return;
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
      append_bytes(json, as_bytes(decoded_base64(encoded)), form);
    } else {
      json += string;
    }
    at = end;
  }
}

RowReader::RowReader(std::shared_ptr<const RecordStore> store, const UserTypes& types, const Limits& limits,
                     ByteForm form)
    : store_(std::move(store)),
      types_(types),
      limits_(limits),
      form_(form),
      decoder_(store_->schema(), store_->metadata(), types) {}

Result<std::string_view> RowReader::type_of_all(const RequestContext& context) const {
  const std::string_view given = type_of_records(types_, store_->schema(), store_->metadata());
  if (!given.empty() || store_->metadata() == nullptr) return given;
  return store_->metadata()->record_type(context);
}

Result<bool> RowReader::append_example(const RequestContext& context, Bytes record, std::string& json) const {
  ASSIGN_OR_RETURN(const auto type, type_of_all(context));
  const RecordSchema& schema = store_->schema();
  const bool is_named = type == tensorflow::kExampleType;
  // As RowSchema, which also takes them for Examples if the format does not say otherwise.
  const bool may_be_example = schema.type || (!schema.value && schema.may_be_message);
  if (!is_named && (!type.empty() || !may_be_example)) return false;
  const auto value = tensorflow::value_of_example(record, limits_, ValueForm::kJson);
  if (!value && (is_named || value.error().code != Code::kDamage)) return value.error();
  if (!value || tensorflow::type_of_example(*value) != tensorflow::kExampleType) return false;
  const Value* const features = only_member(*only_member(*value));
  JsonWriter writer(json, JsonLayout::kTyped);
  writer.begin_object();
  for (const auto& [name, feature] : std::get<Value::Object>(features->is)) {
    writer.name(name);
    writer.begin_list();
    const Value* const list = only_member(feature);
    if (list != nullptr) {
      for (const Value& item : std::get<Value::List>(only_member(*list)->is)) append_value(writer, item, form_);
    }
    writer.end_list();
  }
  writer.end_object();
  return true;
}

Result<bool> RowReader::has_columns(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const {
  std::string row;
  ASSIGN_OR_RETURN(const bool is_example, append_example(context, record, row));
  if (is_example) return true;
  const auto typed = decoder_.row(context, chunk, record);
  if (typed) return typed->starts_with('{');
  if (typed.error().code == Code::kNotFound) return false;
  return typed.error();
}

Result<void> RowReader::append(const RequestContext& context, const ChunkInfo& chunk, Bytes record,
                               std::string& json) const {
  ASSIGN_OR_RETURN(const bool is_example, append_example(context, record, json));
  if (is_example) return {};
  const auto typed = decoder_.row(context, chunk, record);
  const bool has_none = typed ? !typed->starts_with('{') : typed.error().code == Code::kNotFound;
  if (has_none) {
    return Error{.code = Code::kDamage, .position = chunk.begin, .detail = "no columns, unlike the first record"};
  }
  if (!typed) return typed.error();
  append_untyped(json, *typed, form_);
  return {};
}

void RowReader::append_data(std::uint64_t ordinal, Bytes record, std::string& json) const {
  json += fmt::format(R"({{"ordinal":{},"data":)", ordinal);
  append_bytes(json, record, form_);
  json += '}';
}

}  // namespace recordfs
