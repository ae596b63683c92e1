// The fields of a protobuf message type, for readers of the wire format that keep each field apart, as columns do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"
#include "core/base/result.h"

namespace recordfs {

// The numbers of google.protobuf.FieldDescriptorProto.Type.
enum class FieldType : std::uint8_t {
  kDouble = 1,
  kFloat = 2,
  kInt64 = 3,
  kUint64 = 4,
  kInt32 = 5,
  kFixed64 = 6,
  kFixed32 = 7,
  kBool = 8,
  kString = 9,
  kGroup = 10,
  kMessage = 11,
  kBytes = 12,
  kUint32 = 13,
  kEnum = 14,
  kSfixed32 = 15,
  kSfixed64 = 16,
  kSint32 = 17,
  kSint64 = 18,
};

// Returns how a single value of the type is encoded.
protobuf::WireType wire_type_of(FieldType type);

using Enumerators = std::map<std::int32_t, std::string>;  // names by number; of several the first

// What a field of a well-known type is in protobuf's JSON mapping, and so as a column.
enum class MessageForm : std::uint8_t {
  kFields,
  kTimestamp,  // the text of a google.protobuf.Timestamp, Duration or FieldMask (core/decoding/well_known.h)
  kDuration,
  kFieldMask,
  kWrapper,  // the value in a google.protobuf.Int64Value or the like
  kNull,     // google.protobuf.NullValue
};

struct MessageField {
  std::string name{};
  std::uint32_t number = 0;
  // Of a message that is not resolved, kBytes: it contains itself, or nests too deeply. Of one with another form, the
  // type of its value.
  FieldType type = FieldType::kBytes;
  MessageForm form = MessageForm::kFields;
  bool is_repeated = false;
  std::uint8_t inner_lists = 0;  // of what repeats: how many lists each value is in besides; no message has such
  bool has_presence = false;     // an absent value differs from the default
  bool is_group = false;         // the message is encoded as a group
  bool is_map = false;           // its messages are the entries of a map
  std::optional<std::uint64_t> oneof{};              // fields of a message with the same number exclude each other
  std::shared_ptr<const Enumerators> enumerators{};  // of an enum
  std::int32_t default_number = 0;                   // of an enum
  bool is_closed = false;                            // of an enum: numbers without a name are no values
  std::vector<MessageField> fields{};                // of a message, by ascending number
};

// Returns how a single value of the field is encoded.
protobuf::WireType wire_type_of(const MessageField& field);

// Limits of a type, because a type may be part of many others.
struct SchemaLimits {
  std::uint32_t depth = 16;                // of nested messages
  std::uint64_t fields = 4096;             // of all nested messages together
  std::uint64_t descriptors = 256u << 20;  // bytes of descriptors that are read for them
};

// Returns the fields of a type in a serialized google.protobuf.FileDescriptorSet, by ascending number. A group is a
// message. The extensions in the set are fields with names such as "[package.name]". Fails like read_descriptor_set(),
// with kNotFound if the set lacks the type or a type of its fields, with kUnsupported if one is a message set, and with
// kLimit. Thread-safe.
Result<std::vector<MessageField>> message_schema(Bytes descriptors, std::string_view type,
                                                 const SchemaLimits& limits = {});

}  // namespace recordfs
