#include "core/decoding/protobuf/types.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include "core/base/utf8.h"
#include "core/decoding/well_known.h"
#include "core/formats/built_in_types.h"

namespace recordfs::messages {
namespace {

// Returns the field with this number if it is of this kind, otherwise null. A user-defined type named
// google.protobuf.Timestamp may have other fields.
const pb::FieldDescriptor* field_of(const pb::Descriptor* type, int number, pb::FieldDescriptor::CppType kind,
                                    bool is_repeated = false);

using pb::FieldDescriptor;

std::optional<TimeParts> time_of(const pb::Message& message) {
  const auto* const seconds = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_INT64);
  const auto* const nanoseconds = field_of(message.GetDescriptor(), 2, FieldDescriptor::CPPTYPE_INT32);
  if (seconds == nullptr || nanoseconds == nullptr) return std::nullopt;
  const pb::Reflection* const reflection = message.GetReflection();
  return TimeParts{reflection->GetInt64(message, seconds), reflection->GetInt32(message, nanoseconds)};
}

const FieldDescriptor* field_of(const pb::Descriptor* type, int number, FieldDescriptor::CppType kind,
                                bool is_repeated) {
  const FieldDescriptor* const field = type->FindFieldByNumber(number);
  if (field == nullptr || field->cpp_type() != kind || field->is_repeated() != is_repeated) return nullptr;
  return field;
}

// Return the JSON string of a google.protobuf.Timestamp, Duration or FieldMask, or nullopt if the content has none.
std::optional<std::string> text_of_timestamp(const pb::Message& message) {
  const auto time = time_of(message);
  return time ? timestamp_text(*time) : std::nullopt;
}

std::optional<std::string> text_of_duration(const pb::Message& message) {
  const auto time = time_of(message);
  return time ? duration_text(*time) : std::nullopt;
}

std::optional<std::string> text_of_mask(const pb::Message& message) {
  const auto* const paths = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_STRING, true);
  if (paths == nullptr) return std::nullopt;
  const pb::Reflection* const reflection = message.GetReflection();
  std::string text;
  for (int i = 0; i < reflection->FieldSize(message, paths); ++i) {
    if (!append_mask_path(text, reflection->GetRepeatedString(message, paths, i))) return std::nullopt;
  }
  return text;
}

using pb::Descriptor;
using pb::FieldDescriptor;

// The maximum nesting of messages in an Any, which are parsed separately.
constexpr std::size_t kDeepestAny = 16;

struct MapEntry {
  std::uint64_t order = 0;  // sort key of a numeric key
  std::string key{};
  const pb::Message* entry = nullptr;
};

// Maps signed numbers to unsigned numbers in the same order.
std::uint64_t ordered(std::int64_t number) { return std::bit_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << 63); }

MapEntry entry_of(const pb::Message& entry, const FieldDescriptor* key) {
  const pb::Reflection* const reflection = entry.GetReflection();
  const auto of_number = [&](auto number, std::uint64_t order) {
    return MapEntry{order, std::to_string(number), &entry};
  };
  const auto of_signed = [&](auto number) { return of_number(number, ordered(number)); };
  const auto of_unsigned = [&](auto number) { return of_number(number, number); };
  switch (key->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return of_signed(reflection->GetInt32(entry, key));
    case FieldDescriptor::CPPTYPE_INT64: return of_signed(reflection->GetInt64(entry, key));
    case FieldDescriptor::CPPTYPE_UINT32: return of_unsigned(reflection->GetUInt32(entry, key));
    case FieldDescriptor::CPPTYPE_UINT64: return of_unsigned(reflection->GetUInt64(entry, key));
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool is_true = reflection->GetBool(entry, key);
      return {is_true ? 1u : 0u, is_true ? "true" : "false", &entry};
    }
    default: return {0, reflection->GetString(entry, key), &entry};
  }
}

// Returns the entries sorted by key. Of several with one key only the last counts.
std::vector<MapEntry> sorted_entries(const pb::Message& message, const FieldDescriptor* field) {
  const pb::Reflection* const reflection = message.GetReflection();
  const FieldDescriptor* const key = field->message_type()->map_key();
  std::vector<MapEntry> entries;
  for (int i = reflection->FieldSize(message, field); i > 0; --i) {
    entries.push_back(entry_of(reflection->GetRepeatedMessage(message, field, i - 1), key));
  }
  const auto parts = [](const MapEntry& entry) { return std::tie(entry.order, entry.key); };
  std::ranges::stable_sort(entries, {}, parts);
  const auto is_same = [&](const MapEntry& one, const MapEntry& other) { return parts(one) == parts(other); };
  entries.erase(std::unique(entries.begin(), entries.end(), is_same), entries.end());
  return entries;
}

// Returns whether a map has the features of a tensorflow.Example by their names, which are paths of their own.
bool has_features(const FieldDescriptor* map) {
  const std::string_view type = view(map->containing_type()->full_name());
  return type == "tensorflow.Features" || type == "tensorflow.FeatureLists";
}

bool is_null(const pb::EnumDescriptor* type) { return view(type->full_name()) == "google.protobuf.NullValue"; }

std::string described(std::string_view what, const FieldDescriptor* field) {
  return std::string(what) + " in " + std::string(view(field->full_name()));
}

}  // namespace

bool Printer::write(const pb::Message& message) {
  write_message(message);
  return why_.empty();
}

void Printer::fail(std::string why) {
  if (why_.empty()) why_ = std::move(why);
}

void Printer::write_message(const pb::Message& message) {
  if (writer_.nesting() >= JsonWriter::kDeepest) return fail("message nested too deeply");
  if (message.GetDescriptor()->well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED && write_special(message)) {
    return;
  }
  writer_.begin_object();
  write_members(message);
  writer_.end_object();
}

void Printer::write_members(const pb::Message& message) {
  if (lists_.size() == depth_) lists_.emplace_back();
  // Move the list of this level out and back: deeper levels may reallocate `lists_`.
  auto fields = std::exchange(lists_[depth_], {});
  ++depth_;
  fields.clear();
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (!goes_on()) break;
    write_field(message, field);
  }
  if (writer_.wants_values()) write_defaults(message);
  --depth_;
  lists_[depth_] = std::move(fields);
}

void Printer::write_defaults(const pb::Message& message) {
  const Descriptor* const type = message.GetDescriptor();
  for (int i = 0; i < type->field_count() && goes_on(); ++i) {
    const FieldDescriptor* const field = type->field(i);
    if (field->is_repeated()) {
      if (message.GetReflection()->FieldSize(message, field) == 0) write_empty_list(field);
    } else if (!field->has_presence() && !message.GetReflection()->HasField(message, field)) {
      write_field(message, field);
    }
  }
}

// Of a list without elements, only the length in a condition tells that it is no absent field.
void Printer::write_empty_list(const FieldDescriptor* field) {
  if (!writer_.takes_scalars() || writer_.takes_all() || (field->is_map() && has_features(field))) return;
  writer_.name(view(field->name()));
  if (writer_.skips_next()) return;
  writer_.begin_list();
  writer_.end_list();
}

void Printer::write_field(const pb::Message& message, const FieldDescriptor* field) {
  if (field->is_extension()) {
    writer_.name("[" + std::string(view(field->full_name())) + "]");
  } else {
    writer_.name(view(field->name()));
  }
  if (writer_.skips_next()) return;
  if (field->is_map() && writer_.wants_values() && !has_features(field)) {
    write_entries(message, field);
    if (writer_.takes_all() || !goes_on()) return;
    writer_.name(view(field->name()));
  }
  if (field->is_map()) return write_map(message, field, true);
  if (field->is_repeated()) return write_list(message, field);
  write_value(message, field, -1);
}

void Printer::write_list(const pb::Message& message, const FieldDescriptor* field) {
  const int size = message.GetReflection()->FieldSize(message, field);
  writer_.begin_list();
  for (int i = 0; i < size && goes_on(); ++i) write_value(message, field, i);
  writer_.end_list();
}

void Printer::write_entries(const pb::Message& message, const FieldDescriptor* field) {
  const FieldDescriptor* const key = field->message_type()->map_key();
  const FieldDescriptor* const value = field->message_type()->map_value();
  writer_.begin_list();
  for (const MapEntry& entry : sorted_entries(message, field)) {
    writer_.begin_object();
    for (const FieldDescriptor* const part : {key, value}) {
      writer_.name(view(part->name()));
      if (!writer_.skips_next() && goes_on()) write_value(*entry.entry, part, -1);
    }
    writer_.end_object();
  }
  writer_.end_list();
}

void Printer::write_map(const pb::Message& message, const FieldDescriptor* field, bool has_entries) {
  const FieldDescriptor* const value = field->message_type()->map_value();
  if (has_entries && !has_features(field)) {
    writer_.begin_entries();
  } else {
    writer_.begin_object();
  }
  for (const MapEntry& entry : sorted_entries(message, field)) {
    if (!goes_on()) return;
    if (!is_utf8(entry.key)) return fail(described("key is not UTF-8", field));
    writer_.name(entry.key);
    if (!writer_.skips_next()) write_value(*entry.entry, value, -1);
  }
  writer_.end_object();
}

void Printer::write_value(const pb::Message& message, const FieldDescriptor* field, int index) {
  using Reflection = pb::Reflection;
  const Reflection* const reflection = message.GetReflection();
  const auto get = [&](auto of_one, auto of_repeated) -> decltype(auto) {
    return index < 0 ? (reflection->*of_one)(message, field) : (reflection->*of_repeated)(message, field, index);
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return writer_.number(std::int64_t{get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32)});
    case FieldDescriptor::CPPTYPE_INT64:
      return writer_.number(std::int64_t{get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64)}, true);
    case FieldDescriptor::CPPTYPE_UINT32:
      return writer_.number(std::uint64_t{get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32)});
    case FieldDescriptor::CPPTYPE_UINT64:
      return writer_.number(std::uint64_t{get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64)}, true);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return writer_.number(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return writer_.number(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      return writer_.literal(get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false");
    case FieldDescriptor::CPPTYPE_ENUM:
      return write_enum(get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue), field);
    case FieldDescriptor::CPPTYPE_STRING: {
      if (index < 0 && field->type() == FieldDescriptor::TYPE_BYTES && write_typed_bytes(message, field)) return;
      std::string scratch;
      return write_text(index < 0 ? reflection->GetStringReference(message, field, &scratch)
                                  : reflection->GetRepeatedStringReference(message, field, index, &scratch),
                        field);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return write_message(index < 0 ? reflection->GetMessage(message, field)
                                     : reflection->GetRepeatedMessage(message, field, index));
  }
}

void Printer::write_text(const std::string& text, const FieldDescriptor* field) {
  if (field->type() == FieldDescriptor::TYPE_BYTES) return writer_.encoded(as_bytes(text));
  if (!is_utf8(text)) return fail(described("text is not UTF-8", field));
  writer_.string(text);
}

void Printer::write_enum(int number, const FieldDescriptor* field) {
  const pb::EnumDescriptor* const type = field->enum_type();
  if (is_null(type)) return writer_.literal("null");
  const pb::EnumValueDescriptor* const value = type->FindValueByNumber(number);
  writer_.enumerator(number, value == nullptr ? std::string_view() : view(value->name()));
}

bool Printer::write_special(const pb::Message& message) {
  switch (message.GetDescriptor()->well_known_type()) {
    case Descriptor::WELLKNOWNTYPE_ANY: return write_any(message);
    case Descriptor::WELLKNOWNTYPE_TIMESTAMP: return write_text_of(message, text_of_timestamp);
    case Descriptor::WELLKNOWNTYPE_DURATION: return write_text_of(message, text_of_duration);
    case Descriptor::WELLKNOWNTYPE_FIELDMASK: return write_text_of(message, text_of_mask);
    case Descriptor::WELLKNOWNTYPE_STRUCT: return write_struct(message);
    case Descriptor::WELLKNOWNTYPE_VALUE: return write_struct_value(message);
    case Descriptor::WELLKNOWNTYPE_LISTVALUE: return write_list_value(message);
    default: return write_wrapper(message);
  }
}

bool Printer::spend(std::uint64_t fields) {
  spent_on_any_ += fields;
  if (spent_on_any_ <= Types::kMost.fields) return true;
  fail("decoding would take too long");
  return false;
}

bool Printer::spend_on_type(const FoundType& found, std::string_view name) {
  if (found.work == 0 || types_of_any_.contains(name)) return true;
  types_of_any_.emplace(name);
  return spend(found.work);
}

bool Printer::write_inner(std::string_view type, const std::string& bytes,
                          const std::function<void(const pb::Message& inner)>& write) {
  if (depth_of_any_ == kDeepestAny) return false;
  const FoundType found = types_.find(type);
  if (!spend_on_type(found, type)) return true;
  if (found.type == nullptr) return false;
  const Cost cost = counted_cost(*found.type, as_bytes(bytes), Types::kMost);
  const std::uint64_t memory = cost.memory;
  if (memory + memory_of_any_ > Types::kMost.memory) return false;
  if (!spend(cost.fields)) return true;
  const std::unique_ptr<pb::Message> inner(found.type->prototype->New());
  if (!inner->ParsePartialFromString(bytes)) return false;
  ++depth_of_any_;
  memory_of_any_ += memory;
  write(*inner);
  --depth_of_any_;
  memory_of_any_ -= memory;
  return true;
}

bool Printer::write_any(const pb::Message& message) {
  const auto* const url_field = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_STRING);
  const auto* const value_field = field_of(message.GetDescriptor(), 2, FieldDescriptor::CPPTYPE_STRING);
  if (url_field == nullptr || value_field == nullptr) return false;
  const std::string url = message.GetReflection()->GetString(message, url_field);
  if (!is_utf8(url)) return false;
  std::string scratch;
  const std::string& value = message.GetReflection()->GetStringReference(message, value_field, &scratch);
  return write_inner(std::string_view(url).substr(url.rfind('/') + 1), value, [&](const pb::Message& inner) {
    writer_.begin_object();
    writer_.name("@type");
    writer_.string(url);
    if (inner.GetDescriptor()->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
      write_members(inner);
    } else {
      writer_.name("value");
      write_message(inner);
    }
    writer_.end_object();
  });
}

bool Printer::write_typed_bytes(const pb::Message& message, const FieldDescriptor* field) {
  const pb::UnknownFieldSet& options = field->options().unknown_fields();
  if (!spend(static_cast<std::uint64_t>(options.field_count()))) return true;  // a file can declare any number
  for (int i = 0; i < options.field_count(); ++i) {
    const pb::UnknownField& option = options.field(i);
    if (option.number() != kTypeOfBytes || option.type() != pb::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    const std::string& rule = option.length_delimited();
    const std::size_t equals = rule.find('=');
    const std::size_t colon = rule.find(':', std::min(equals, rule.size()));
    if (colon == std::string::npos) continue;
    const FieldDescriptor* const beside = field->containing_type()->FindFieldByName(rule.substr(0, equals));
    if (beside == nullptr || beside->type() != FieldDescriptor::TYPE_STRING || beside->is_repeated()) continue;
    const pb::Reflection& reflection = *message.GetReflection();
    if (reflection.GetString(message, beside) != rule.substr(equals + 1, colon - equals - 1)) continue;
    return write_inner(std::string_view(rule).substr(colon + 1), reflection.GetString(message, field),
                       [this](const pb::Message& inner) { write_message(inner); });
  }
  return false;
}

bool Printer::write_text_of(const pb::Message& message,
                            std::optional<std::string> (*text_of)(const pb::Message& message)) {
  const auto text = text_of(message);
  if (!text || !is_utf8(*text)) return false;
  writer_.string(*text);
  return true;
}

bool Printer::write_struct(const pb::Message& message) {
  const auto* const fields = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_MESSAGE, true);
  if (fields == nullptr || !fields->is_map()) return false;
  write_map(message, fields, false);
  return true;
}

bool Printer::write_struct_value(const pb::Message& message) {
  constexpr int kFields = 6;
  const Descriptor* const type = message.GetDescriptor();
  if (type->field_count() != kFields) return false;
  const FieldDescriptor* set = nullptr;
  for (int i = 0; i < kFields; ++i) {
    const FieldDescriptor* const field = type->field(i);
    if (field->is_repeated() || field->real_containing_oneof() == nullptr) return false;
    if (message.GetReflection()->HasField(message, field)) set = field;
  }
  if (set == nullptr) {
    writer_.literal("null");
  } else {
    write_value(message, set, -1);
  }
  return true;
}

bool Printer::write_list_value(const pb::Message& message) {
  const auto* const values = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_MESSAGE, true);
  if (values == nullptr || values->is_map()) return false;
  write_list(message, values);
  return true;
}

bool Printer::write_wrapper(const pb::Message& message) {
  const FieldDescriptor* const value = message.GetDescriptor()->FindFieldByNumber(1);
  if (value == nullptr || value->is_repeated() || value->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return false;
  write_value(message, value, -1);
  return true;
}

}  // namespace recordfs::messages
