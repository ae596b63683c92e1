#include "core/decoding/record_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/decoding/example_fields.h"
#include "core/decoding/json_record.h"
#include "core/decoding/protobuf_module.h"
#include "core/decoding/value_writer.h"
#include "core/formats/tensorflow_example.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::WireType;

std::string_view word_of(WireType type) {
  switch (type) {
    case WireType::kVarint: return "varint";
    case WireType::kFixed64: return "fixed64";
    case WireType::kLengthDelimited: return "bytes";
    case WireType::kFixed32: return "fixed32";
    case WireType::kGroupStart:
    case WireType::kGroupEnd: break;
  }
  return "group";
}

void write_content(JsonWriter& writer, const Field& field, Bytes content) {
  Cursor number(content);
  switch (field.type) {
    case WireType::kVarint: writer.name("value"); return writer.number(field.value, true);
    case WireType::kFixed64: writer.name("value"); return writer.number(number.u64_le(), true);
    case WireType::kFixed32: writer.name("value"); return writer.number(std::uint64_t{number.u32_le()});
    case WireType::kLengthDelimited: return writer.bytes(writer.is_typed() ? "value" : "text", "base64", content);
    case WireType::kGroupStart:
    case WireType::kGroupEnd: return;
  }
}

void begin_field(JsonWriter& writer, const Field& field) {
  writer.begin_object();
  writer.member("field", std::uint64_t{field.number});
  writer.member("wire", word_of(field.type));
}

// Writes a field. A group remains open in `writer`.
void write_field(JsonWriter& writer, const Field& field, Bytes content) {
  if (field.type == WireType::kGroupEnd) {
    writer.end_list();
    return writer.end_object();
  }
  begin_field(writer, field);
  if (field.type == WireType::kGroupStart) {
    writer.name("fields");
    return writer.begin_list();
  }
  write_content(writer, field, content);
  writer.end_object();
}

// The maximum nesting of groups. Each group is an object in a list.
constexpr std::uint32_t kDepth = JsonWriter::kDeepest / 3 - 5;
constexpr std::uint64_t kLongestReason = 1000;

bool is_white_space(char c) { return c == '\t' || c == '\n' || c == '\r'; }

// Returns whether `text` is UTF-8 without control characters other than white space.
bool is_plain_text(std::string_view text) {
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };  // in ASCII
  while (true) {
    text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_printable) - text.begin()));
    if (text.empty()) return true;
    const std::size_t length = utf8_character(text);
    if (length == 0 || (is_control(text) && !is_white_space(text.front()))) return false;
    text.remove_prefix(length);
  }
}

// Returns whether an error may be transient, so that it must not be reported as a property of the record.
bool may_pass(Code code) { return !is_permanent(code); }

Error no_decoded_form() { return {.code = Code::kNotFound, .detail = "this record has no decoded form"}; }
Error too_much_text() { return {.code = Code::kLimit, .detail = "decoded content too large"}; }

// Writes a message as an object. Returns why that failed; empty on success. Fails with what may pass.
Result<std::string> write_as(const Result<std::shared_ptr<const MessageTypes>>& types, const Message& message,
                             JsonWriter& writer) {
  if (!types) {
    if (may_pass(types.error().code)) return types.error();
    return types.error().detail;
  }
  if (*types == nullptr) return std::string(kNoDescriptor);
  std::string why;
  if ((*types)->write(message.type, message.bytes, writer, why)) return std::string();
  if (why == kNoMemory) return Error{.code = Code::kOutOfMemory, .detail = std::move(why)};
  return why;
}

}  // namespace

bool is_message(Bytes bytes, std::uint32_t depth) {
  protobuf::MessageReader reader(bytes, depth);
  while (reader.next()) {
  }
  return reader.finish().has_value();
}

void write_fields(JsonWriter& writer, Bytes message, std::uint32_t depth) {
  Cursor cursor(message);
  protobuf::Groups groups(depth);
  std::uint32_t open = 0;
  writer.begin_list();
  while (!cursor.at_end() && !writer.is_full()) {
    const Field field = protobuf::read_field(cursor);
    const Bytes content = cursor.take(field.size);
    if (!cursor.ok() || !groups.note(field)) break;
    if (field.type == WireType::kGroupStart) ++open;
    if (field.type == WireType::kGroupEnd) --open;
    write_field(writer, field, content);
  }
  for (; open > 0; --open) {
    writer.end_list();
    writer.end_object();
  }
  writer.end_list();
}

namespace {

// Returns whether a record is not a message itself, but has messages in it and names their types.
bool names_types(const RecordSchema& schema, const Metadata* metadata) {
  return schema.value && !schema.may_be_message && metadata != nullptr && metadata->has_descriptors();
}

// Returns the value of a record without another decoded form, if it is a text of JSON.
Result<std::optional<JsonValue>> json_in(const RecordSchema& schema, Bytes record) {
  return schema.may_be_message ? json_of_record(record) : Result(std::optional<JsonValue>());
}

// Appends it to an open object, as RecordDecoder::append_members() does.
void append_json(std::string& line, const JsonValue& json, std::uint64_t most_text, ByteForm form, JsonFilter* filter) {
  auto writer = JsonWriter::in_object(line, most_text, form, filter);
  const auto before = writer.mark();
  writer.name("decoded");
  write_json(writer, json);
  if (!writer.is_full()) return;
  writer.take_back(before);
  JsonWriter::in_object(line, kLongestReason).member("error", too_much_text().detail);
}

// Returns it as a document, as RecordDecoder::document() does.
Result<std::string> document_of_json(const RecordSchema& schema, Bytes record, JsonLayout layout,
                                     std::uint64_t most_text, JsonFilter* filter) {
  ASSIGN_OR_RETURN(const auto json, json_in(schema, record));
  if (!json) return no_decoded_form();
  std::string text;
  JsonWriter writer(text, layout, most_text, ByteForm::kAuto, filter);
  write_json(writer, *json);
  if (writer.is_full()) return too_much_text();
  return text += '\n';
}

}  // namespace

std::string_view type_of_records(const UserTypes& types, const RecordSchema& schema, const Metadata* metadata) {
  return types.is_only_type && names_types(schema, metadata) ? std::string_view() : types.type;
}

Result<void> check_types(const UserTypes& types, const RecordSchema& schema, const Metadata* metadata) {
  if (types.descriptors == nullptr || !types.type.empty() || names_types(schema, metadata)) return {};
  constexpr std::size_t kMostShown = 5;
  ASSIGN_OR_RETURN(const auto set, read_descriptor_set(as_bytes(*types.descriptors)));
  auto names = record_types_in(set);
  const bool has_more = names.size() > kMostShown;
  if (has_more) names.resize(kMostShown);
  for (std::string& name : names) name = printable(name);
  return Error{.code = Code::kNotFound,
               .detail = fmt::format("the descriptors contain {} message types: {}{}", types.top_types,
                                     fmt::join(names, ", "), has_more ? ", ..." : "")};
}

RecordDecoder::RecordDecoder(const RecordSchema& schema, const Metadata* metadata, UserTypes user_types,
                             std::uint64_t most_text)
    : schema_(schema),
      metadata_(metadata),
      chunk_metadata_(metadata),
      user_types_(std::move(user_types)),
      user_type_(type_of_records(user_types_, schema, metadata)),
      most_text_(most_text) {}

Result<std::string_view> RecordDecoder::record_type(const RequestContext& context) const {
  return metadata_ == nullptr ? std::string_view() : metadata_->record_type(context);
}

Result<std::vector<MessageField>> RecordDecoder::fields(const RequestContext& context, const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(const auto name, type(context));
  auto descriptors = user_types_.descriptors;
  if (descriptors == nullptr && has_descriptors()) {
    ASSIGN_OR_RETURN(descriptors, metadata_->descriptors(context, chunk));
  }
  if (name.empty() || descriptors == nullptr) return std::vector<MessageField>();
  return message_schema(as_bytes(*descriptors), name);
}

bool RecordDecoder::may_have_type(const RequestContext& context) const {
  const auto type = record_type(context);
  return !type || !type->empty();
}

bool RecordDecoder::decodes(const RequestContext& context) const {
  return !user_type_.empty() || schema_.value || schema_.may_be_message || may_have_type(context);
}

bool RecordDecoder::decodes_messages(const RequestContext& context) const {
  if (!user_type_.empty()) return true;
  return (has_descriptors() || user_types_.descriptors != nullptr) && (schema_.value || may_have_type(context));
}

Result<std::optional<Value>> RecordDecoder::value_of(const RequestContext& context, Bytes record) const {
  if (!user_type_.empty()) return std::optional(Value{Message{user_type_, record}});
  TRY(check_types(user_types_, schema_, metadata_));
  const bool may_be_any_message = schema_.may_be_message;
  if (schema_.value) {
    auto value = schema_.value(record, ValueForm::kJson);
    if (value) return std::optional(std::move(*value));
    if (value.error().code != Code::kDamage || !may_be_any_message) return std::move(value).error();
  }
  ASSIGN_OR_RETURN(const auto type, record_type(context));
  if (!type.empty()) return std::optional(Value{Message{type, record}});
  if (may_be_any_message && !is_plain_text(as_text(record)) && is_message(record, kDepth)) {
    return std::optional(Value{Message{{}, record}});
  }
  return std::optional<Value>();
}

Result<std::shared_ptr<const ChunkMetadata>> RecordDecoder::add_metadata_at(const RequestContext& context,
                                                                            const ChunkInfo& chunk,
                                                                            Value& value) const {
  auto* const members = std::get_if<Value::Object>(&value.is);
  if (members == nullptr) return std::shared_ptr<const ChunkMetadata>();
  ASSIGN_OR_RETURN(auto metadata, chunk_metadata_.at(context, chunk));
  if (metadata != nullptr) add_metadata(*metadata, *members);
  return metadata;
}

Result<RecordDecoder::Types> RecordDecoder::find_types(const RequestContext& context, const ChunkInfo& chunk) const {
  if (!has_descriptors()) return Types();
  ASSIGN_OR_RETURN(const auto descriptors, metadata_->descriptors(context, chunk));
  if (descriptors == nullptr || descriptors->empty()) return Types();
  return shared_types(descriptors);
}

Result<RecordDecoder::Types> RecordDecoder::types_at(const RequestContext& context, const ChunkInfo& chunk) const {
  if (auto known = recent_.find(chunk.begin)) return *known;
  auto types = find_types(context, chunk);
  if (!types && may_pass(types.error().code)) return types;
  return recent_.add(chunk.begin, std::move(types));
}

Result<RecordDecoder::Types> RecordDecoder::types_of_user() const {
  if (auto known = recent_.find(kOfUser)) return *known;
  auto types = shared_types(user_types_.descriptors);
  if (!types && may_pass(types.error().code)) return types;
  return recent_.add(kOfUser, std::move(types));
}

Result<std::string> RecordDecoder::write_decoded(const RequestContext& context, JsonWriter& writer,
                                                 const ChunkInfo& chunk, const Message& message) const {
  const bool has_user_types = user_types_.descriptors != nullptr;
  if (has_user_types) {
    const auto mark = writer.mark();
    ASSIGN_OR_RETURN(auto why, write_as(types_of_user(), message, writer));
    if (why != kNoDescriptor || !user_type_.empty() || !has_descriptors()) return why;
    writer.take_back(mark);
  }
  return write_as(types_at(context, chunk), message, writer);
}

Result<void> RecordDecoder::write_message(const RequestContext& context, JsonWriter& writer, const ChunkInfo& chunk,
                                          const Message& message) const {
  if (!message.type.empty()) {
    writer.member("type", printable(message.type));
    const auto mark = writer.mark();
    writer.name("decoded");
    if (writer.skips_next()) return {};
    ASSIGN_OR_RETURN(const auto why, write_decoded(context, writer, chunk, message));
    if (why.empty()) return {};
    if (writer.takes_scalars()) return undecoded(message, why);
    writer.take_back(mark);
    writer.member("error", printable(why));
  } else if (!is_message(message.bytes, kDepth)) {
    writer.member("error", "not a valid message");
  }
  writer.name("fields");
  write_fields(writer, message.bytes, kDepth);
  return {};
}

// Writes a value as members of an open object, or as a whole document.
Result<void> RecordDecoder::write(const RequestContext& context, JsonWriter& writer, const ChunkInfo& chunk,
                                  const Value& value, bool is_member) const {
  const auto* const message = std::get_if<Message>(&value.is);
  if (message != nullptr && is_member) return write_message(context, writer, chunk, *message);
  if (message != nullptr && !message->type.empty()) {
    const auto mark = writer.mark();
    ASSIGN_OR_RETURN(const auto why, write_decoded(context, writer, chunk, *message));
    if (why.empty()) return {};
    writer.take_back(mark);
  }
  Result<void> outcome;
  const ValueWriter values(writer, [&](const Message& inner) {
    if (outcome) outcome = write_message(context, writer, chunk, inner);
  });
  if (is_member) {
    values.write_member("decoded", value);
  } else {
    values.write(value);
  }
  return outcome;
}

Result<void> RecordDecoder::append_members(const RequestContext& context, std::string& line, const ChunkInfo& chunk,
                                           Bytes record, ByteForm form, JsonFilter* filter) const {
  auto value = value_of(context, record);
  if (!value && may_pass(value.error().code)) return value.error();
  if (value && !*value) {
    const auto json = json_in(schema_, record);
    if (json && *json) append_json(line, **json, most_text_, form, filter);
    if (!json) JsonWriter::in_object(line, kLongestReason).member("error", json.error().detail);
    return {};
  }
  std::shared_ptr<const ChunkMetadata> metadata;  // `value` points into it
  if (value) {
    if (filter != nullptr) filter->begin_record(is_example(schema_, **value));
    ASSIGN_OR_RETURN(metadata, add_metadata_at(context, chunk, **value));
  }
  auto writer = JsonWriter::in_object(line, most_text_, form, filter);
  const auto before = writer.mark();
  if (value) {
    const bool is_of_schema = schema_.type && std::holds_alternative<Value::Object>((*value)->is);
    if (const auto type = is_of_schema ? schema_.type(**value) : std::string_view(); !type.empty()) {
      writer.member("type", type);
    }
    auto written = write(context, writer, chunk, **value, true);
    if (written && !writer.is_full()) return {};
    writer.take_back(before);
    if (!written) return written;
  }
  JsonWriter::in_object(line, kLongestReason)
      .member("error", value ? too_much_text().detail : printable(value.error().detail));
  return {};
}

Result<std::string> RecordDecoder::document_of(const RequestContext& context, const ChunkInfo& chunk,
                                               const Value& value, JsonLayout layout, JsonFilter* filter) const {
  std::string text;
  JsonWriter writer(text, layout, most_text_, ByteForm::kAuto, filter);
  TRY(write(context, writer, chunk, value, false));
  if (writer.is_full()) return too_much_text();
  text += '\n';
  return text;
}

Result<std::string> RecordDecoder::document(const RequestContext& context, const ChunkInfo& chunk, Bytes record,
                                            JsonLayout layout, JsonFilter* filter) const {
  ASSIGN_OR_RETURN(auto value, value_of(context, record));
  if (!value) return document_of_json(schema_, record, layout, most_text_, filter);
  if (filter != nullptr) filter->begin_record(is_example(schema_, *value));
  ASSIGN_OR_RETURN(const auto metadata, add_metadata_at(context, chunk, *value));  // `value` points into it
  return document_of(context, chunk, *value, layout, filter);
}

Error RecordDecoder::undecoded(const Message& message, const std::string& why) {
  if (message.type.empty()) return {.code = Code::kNotFound, .detail = "a message of unknown type"};
  return {.code = Code::kUnsupported, .detail = fmt::format("{}: {}", printable(message.type), printable(why))};
}

Result<void> RecordDecoder::visit(const RequestContext& context, const ChunkInfo& chunk, Bytes record,
                                  JsonFilter& filter) const {
  if (user_type_.empty() && has_examples(schema_)) {
    TRY(check_types(user_types_, schema_, metadata_));
    std::string nothing;
    JsonWriter writer(nothing, JsonLayout::kLine, 0, ByteForm::kAuto, &filter);
    bool was_example = false;
    filter.begin_record(true);
    auto visited = visit_example(writer, record, Limits(), was_example);
    if (was_example) return visited;
  }
  ASSIGN_OR_RETURN(auto value, value_of(context, record));
  filter.begin_record(value && is_example(schema_, *value));
  if (!value) {
    const auto json = document_of_json(schema_, record, JsonLayout::kLine, most_text_, &filter);
    return json ? Result<void>() : json.error();
  }
  ASSIGN_OR_RETURN(const auto metadata, add_metadata_at(context, chunk, *value));  // `value` points into it
  std::string text;                                                                // remains empty
  JsonWriter writer(text, JsonLayout::kLine, most_text_, ByteForm::kAuto, &filter);
  const auto* const message = std::get_if<Message>(&value->is);
  if (message == nullptr) return write(context, writer, chunk, *value, false);
  if (message->type.empty()) return undecoded(*message, {});
  ASSIGN_OR_RETURN(const auto why, write_decoded(context, writer, chunk, *message));
  return why.empty() ? Result<void>() : undecoded(*message, why);
}

Result<std::string> RecordDecoder::row(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const {
  ASSIGN_OR_RETURN(auto value, value_of(context, record));
  std::string text;
  JsonWriter writer(text, JsonLayout::kTyped, most_text_);
  if (!value) {
    ASSIGN_OR_RETURN(const auto json, json_in(schema_, record));
    if (!json) return no_decoded_form();
    write_json(writer, *json);
  } else if (const auto* const message = std::get_if<Message>(&value->is)) {
    if (message->type.empty()) return no_decoded_form();
    ASSIGN_OR_RETURN(auto why, write_decoded(context, writer, chunk, *message));
    if (why == kNoDescriptor) return Error{.code = Code::kNotFound, .detail = std::move(why)};
    if (!why.empty()) return Error{.code = Code::kDamage, .detail = std::move(why)};
  } else {
    ASSIGN_OR_RETURN(const auto metadata, add_metadata_at(context, chunk, *value));  // `value` points into it
    TRY(write(context, writer, chunk, *value, false));
  }
  if (writer.is_full()) return too_much_text();
  return text;
}

Result<std::string> RecordDecoder::document_of_message(const RequestContext& context, const ChunkInfo& chunk,
                                                       const Message& message) const {
  return document_of(context, chunk, Value{message}, JsonLayout::kIndented, nullptr);
}

}  // namespace recordfs
