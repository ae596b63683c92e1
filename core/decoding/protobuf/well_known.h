// Well-known types that are strings in JSON. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/decoding/protobuf/library.h"

namespace recordfs::messages {

// Returns the field with this number if it is of this kind, otherwise null. A user-defined type named
// google.protobuf.Timestamp may have other fields.
const pb::FieldDescriptor* field_of(const pb::Descriptor* type, int number, pb::FieldDescriptor::CppType kind,
                                    bool is_repeated = false);

// Return the JSON string of a google.protobuf.Timestamp, Duration or FieldMask, or nullopt if the content has none.
std::optional<std::string> timestamp_text(const pb::Message& message);
std::optional<std::string> duration_text(const pb::Message& message);
std::optional<std::string> field_mask_text(const pb::Message& message);

}  // namespace recordfs::messages
