#include "core/decoding/message_schema.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/descriptor_set.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

// Of the fields in google/protobuf/descriptor.proto.
namespace numbers {
constexpr std::uint32_t kName = 1;  // of all elements
constexpr std::uint32_t kPackage = 2;
constexpr std::uint32_t kMessagesOfFile = 4;
constexpr std::uint32_t kEnumsOfFile = 5;
constexpr std::uint32_t kExtensionsOfFile = 7;
constexpr std::uint32_t kSyntax = 12;
constexpr std::uint32_t kFields = 2;
constexpr std::uint32_t kMessagesOfMessage = 3;
constexpr std::uint32_t kEnumsOfMessage = 4;
constexpr std::uint32_t kExtensionsOfMessage = 6;
constexpr std::uint32_t kOptionsOfMessage = 7;
constexpr std::uint32_t kMessageSet = 1;
constexpr std::uint32_t kMapEntry = 7;
constexpr std::uint32_t kExtendee = 2;
constexpr std::uint32_t kNumber = 3;
constexpr std::uint32_t kLabel = 4;
constexpr std::uint32_t kType = 5;
constexpr std::uint32_t kTypeName = 6;
constexpr std::uint32_t kOneofIndex = 9;
constexpr std::uint32_t kEnumValues = 2;
constexpr std::uint32_t kNumberOfEnumValue = 2;
}  // namespace numbers

constexpr std::uint64_t kRepeated = 3;
constexpr std::uint64_t kLastType = 18;

// Calls take(field, content) for each field of a message that is known to be valid.
template <class Take>
void each(Bytes message, const Take& take) {
  MessageReader reader(message, DescriptorLimits().depth);
  while (reader.next()) take(reader.field(), reader.content());
}

std::string_view name_of(Bytes element, std::uint32_t number = numbers::kName) {
  std::string_view name;
  each(element, [&](const Field& field, Bytes content) {
    if (field.is(number, WireType::kLengthDelimited)) name = as_text(content);
  });
  return name;
}

// Returns an option of a message that is true or false.
bool has_option(Bytes message, std::uint32_t number) {
  bool is_set = false;
  each(message, [&](const Field& field, Bytes options) {
    if (!field.is(numbers::kOptionsOfMessage, WireType::kLengthDelimited)) return;
    each(options, [&](const Field& option, Bytes) {
      if (option.is(number, WireType::kVarint)) is_set = option.value != 0;
    });
  });
  return is_set;
}

struct MessageElement {
  Bytes content{};
  bool has_implicit_presence = false;  // of its fields: proto3
  bool has_closed_enums = false;       // proto2
};

struct Extension {
  Bytes declared{};
  std::string name{};
};

struct EnumElement {
  Bytes content{};
  std::shared_ptr<const Enumerators> enumerators{};  // null: not read yet
  std::int32_t first = 0;                            // number of the first value, which is the default
};

constexpr std::string_view kWellKnown = "google.protobuf.";

// Returns the form of a well-known type, if the fields are those that it should have.
MessageForm form_of(std::string_view type, const std::vector<MessageField>& fields) {
  constexpr std::array<std::string_view, 9> kWrappers = {"DoubleValue", "FloatValue",  "Int64Value",
                                                         "UInt64Value", "Int32Value",  "UInt32Value",
                                                         "BoolValue",   "StringValue", "BytesValue"};
  if (!type.starts_with(kWellKnown)) return MessageForm::kFields;
  type.remove_prefix(kWellKnown.size());
  const auto is = [&fields](std::size_t index, FieldType type_of_field, bool is_repeated) {
    return index < fields.size() && fields[index].number == index + 1 && fields[index].type == type_of_field &&
           fields[index].is_repeated == is_repeated;
  };
  const bool is_time = is(0, FieldType::kInt64, false) && is(1, FieldType::kInt32, false);
  if (type == "Timestamp" && is_time) return MessageForm::kTimestamp;
  if (type == "Duration" && is_time) return MessageForm::kDuration;
  if (type == "FieldMask" && is(0, FieldType::kString, true)) return MessageForm::kFieldMask;
  const bool is_wrapper = std::ranges::find(kWrappers, type) != kWrappers.end() && !fields.empty() &&
                          is(0, fields.front().type, false) && fields.front().type != FieldType::kMessage &&
                          fields.front().form == MessageForm::kFields;
  return is_wrapper ? MessageForm::kWrapper : MessageForm::kFields;
}

// Resolves types. Not thread-safe.
class Resolver {
 public:
  explicit Resolver(const SchemaLimits& limits)
      : limits_(limits), left_(limits.fields), left_bytes_(limits.descriptors) {}

  void add_file(Bytes file) {
    add_elements(file, name_of(file, numbers::kPackage), kOfFile, name_of(file, numbers::kSyntax));
  }

  Result<std::vector<MessageField>> fields_of(std::string_view type, std::uint32_t depth) {
    const auto found = messages_.find(type);
    if (found == messages_.end()) return unknown(type);
    const MessageElement& message = found->second;
    TRY(take(left_bytes_, message.content.size()));
    const bool is_entry = has_option(message.content, numbers::kMapEntry);
    std::vector<Bytes> declared;
    each(message.content, [&](const Field& field, Bytes content) {
      if (field.is(numbers::kFields, WireType::kLengthDelimited)) declared.push_back(content);
    });
    if (has_option(message.content, numbers::kMessageSet)) {
      return Error{.code = Code::kUnsupported, .detail = fmt::format("{} is a message set", printable(type))};
    }
    open_.push_back(found->first);
    std::vector<MessageField> fields;
    for (const Bytes one : declared) {
      TRY(take(left_, 1));
      TRY(add_field(one, !message.has_implicit_presence && !is_entry, depth, fields));
      fields.back().is_closed = message.has_closed_enums;
      if (is_entry) fields.back().has_presence = false;
    }
    const auto [first, last] = extensions_.equal_range(type);
    for (auto extension = first; extension != last; ++extension) {
      TRY(take(left_, 1));
      TRY(add_field(extension->second.declared, true, depth, fields));
      fields.back().name = extension->second.name;
      TRY(check_name(fields.back().name));
    }
    open_.pop_back();
    std::ranges::sort(fields, {}, &MessageField::number);
    return fields;
  }

 private:
  static Result<void> take(std::uint64_t& left, std::uint64_t amount) {
    if (amount > left) return Error{.code = Code::kLimit, .detail = "the message type has too many fields"};
    left -= amount;
    return {};
  }

  static Error invalid() { return {.code = Code::kDamage, .detail = "a descriptor has an invalid field"}; }
  static Result<void> check_name(const std::string& name) {
    return is_utf8(name) && name.find('\0') == std::string::npos ? Result<void>() : invalid();
  }

  static Error unknown(std::string_view type) {
    return {.code = Code::kNotFound, .detail = fmt::format("no descriptor of {}", printable(type))};
  }

  // The numbers of fields.
  struct Elements {
    std::uint32_t messages;
    std::uint32_t enums;
    std::uint32_t extensions;
  };
  static constexpr Elements kOfFile{numbers::kMessagesOfFile, numbers::kEnumsOfFile, numbers::kExtensionsOfFile};
  static constexpr Elements kOfMessage{numbers::kMessagesOfMessage, numbers::kEnumsOfMessage,
                                       numbers::kExtensionsOfMessage};

  void add_elements(Bytes parent, std::string_view scope, const Elements& of, std::string_view syntax) {
    const std::string prefix = scope.empty() ? std::string() : fmt::format("{}.", scope);
    each(parent, [&](const Field& field, Bytes content) {
      if (field.is(of.enums, WireType::kLengthDelimited))
        enums_.try_emplace(prefix + std::string(name_of(content)), EnumElement{content});
      if (field.is(of.extensions, WireType::kLengthDelimited)) {
        std::string_view extended = name_of(content, numbers::kExtendee);
        if (extended.starts_with('.')) extended.remove_prefix(1);
        extensions_.emplace(extended, Extension{content, fmt::format("[{}{}]", prefix, name_of(content))});
      }
      if (!field.is(of.messages, WireType::kLengthDelimited)) return;
      const std::string name = prefix + std::string(name_of(content));
      messages_.try_emplace(name, MessageElement{content, syntax == "proto3", syntax.empty() || syntax == "proto2"});
      add_elements(content, name, kOfMessage, syntax);
    });
  }

  Result<void> add_field(Bytes declared, bool has_presence, std::uint32_t depth, std::vector<MessageField>& fields) {
    MessageField made{.name = std::string(name_of(declared)), .has_presence = has_presence};
    std::uint64_t type = 0;
    std::string_view type_name;
    each(declared, [&](const Field& field, Bytes content) {
      if (field.is(numbers::kNumber, WireType::kVarint)) made.number = static_cast<std::uint32_t>(field.value);
      if (field.is(numbers::kLabel, WireType::kVarint)) made.is_repeated = field.value == kRepeated;
      if (field.is(numbers::kType, WireType::kVarint)) type = field.value;
      if (field.is(numbers::kTypeName, WireType::kLengthDelimited)) type_name = as_text(content);
      if (field.is(numbers::kOneofIndex, WireType::kVarint))
        made.oneof = field.value;  // also of an optional field of proto3
    });
    TRY(check_name(made.name));
    if (type == 0 || type > kLastType) return invalid();
    made.type = static_cast<FieldType>(type);
    made.is_group = made.type == FieldType::kGroup;
    if (made.is_group) made.type = FieldType::kMessage;
    if (type_name.starts_with('.')) type_name.remove_prefix(1);
    if (made.type == FieldType::kEnum) TRY(add_enumerators(type_name, made));
    if (made.type == FieldType::kMessage) TRY(add_message(type_name, depth, made));
    made.has_presence = !made.is_repeated && (made.has_presence || made.oneof || made.type == FieldType::kMessage);
    fields.push_back(std::move(made));
    return {};
  }

  Result<void> add_message(std::string_view type, std::uint32_t depth, MessageField& made) {
    made.has_presence = true;
    made.is_map = made.is_repeated && is_map_entry(type);
    if (depth >= limits_.depth || std::ranges::find(open_, type) != open_.end()) {
      made.type = FieldType::kBytes;
      return {};
    }
    ASSIGN_OR_RETURN(made.fields, fields_of(type, depth + 1));
    made.form = form_of(type, made.fields);
    if (made.form == MessageForm::kFields) return {};
    made.type = made.form == MessageForm::kWrapper ? made.fields.front().type : FieldType::kString;
    made.enumerators = made.fields.front().enumerators;
    made.fields.clear();
    return {};
  }

  bool is_map_entry(std::string_view type) const {
    const auto found = messages_.find(type);
    return found != messages_.end() && has_option(found->second.content, numbers::kMapEntry);
  }

  Result<void> add_enumerators(std::string_view type, MessageField& made) {
    const auto found = enums_.find(type);
    if (found == enums_.end()) return unknown(type);
    if (type == "google.protobuf.NullValue") made.form = MessageForm::kNull;
    EnumElement& element = found->second;
    made.enumerators = element.enumerators;
    made.default_number = element.first;
    if (made.enumerators != nullptr) return {};
    Enumerators names;
    bool has_first = false;
    each(element.content, [&](const Field& field, Bytes content) {
      if (!field.is(numbers::kEnumValues, WireType::kLengthDelimited)) return;
      std::int32_t number = 0;
      each(content, [&](const Field& part, Bytes) {
        if (part.is(numbers::kNumberOfEnumValue, WireType::kVarint)) number = static_cast<std::int32_t>(part.value);
      });
      if (!std::exchange(has_first, true)) element.first = number;
      if (const auto name = name_of(content); is_utf8(name)) names.try_emplace(number, name);
    });
    made.default_number = element.first;
    made.enumerators = element.enumerators = std::make_shared<const Enumerators>(std::move(names));
    return {};
  }

  const SchemaLimits limits_;
  std::uint64_t left_;        // fields
  std::uint64_t left_bytes_;  // of descriptors
  std::map<std::string, MessageElement, std::less<>> messages_;
  std::map<std::string, EnumElement, std::less<>> enums_;
  std::multimap<std::string, Extension, std::less<>> extensions_;  // by the name of the extended type
  std::vector<std::string_view> open_;                             // the types that are being resolved
};

}  // namespace

WireType wire_type_of(FieldType type) {
  switch (type) {
    case FieldType::kDouble:
    case FieldType::kFixed64:
    case FieldType::kSfixed64: return WireType::kFixed64;
    case FieldType::kFloat:
    case FieldType::kFixed32:
    case FieldType::kSfixed32: return WireType::kFixed32;
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage: return WireType::kLengthDelimited;
    case FieldType::kGroup: return WireType::kGroupStart;
    default: return WireType::kVarint;
  }
}

WireType wire_type_of(const MessageField& field) {
  if (field.is_group) return WireType::kGroupStart;
  const bool is_value = field.form == MessageForm::kFields || field.form == MessageForm::kNull;
  return is_value ? wire_type_of(field.type) : WireType::kLengthDelimited;
}

Result<std::vector<MessageField>> message_schema(Bytes descriptors, std::string_view type, const SchemaLimits& limits) {
  ASSIGN_OR_RETURN(const auto set, read_descriptor_set(descriptors));
  Resolver resolver(limits);
  for (const DescriptorFile& file : set.files) resolver.add_file(file.content);
  if (type.starts_with('.')) type.remove_prefix(1);
  return resolver.fields_of(type, 0);
}

}  // namespace recordfs
