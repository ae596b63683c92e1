// Writes the values of core/formats/value.h as JSON. A callback writes the messages in them. Thread-safe.
#pragma once

#include <functional>
#include <string_view>

#include "core/decoding/json_writer.h"
#include "core/formats/value.h"

namespace recordfs {

// Writes the members of a message to an open object.
using WriteMessage = std::function<void(JsonWriter& writer, const Message& message)>;

// Writes a value. Bytes become an object with "text" or "base64", and a message an object with the members from
// `write_message`. NaN and the infinities become strings, all other numbers JSON numbers.
void write_value(JsonWriter& writer, const Value& value, const WriteMessage& write_message);

// Writes a member of an open object. Bytes become "NAME":"..." if they are UTF-8, otherwise "NAME_base64":"...". If
// `name` is empty, the members of the value are written to the object directly. REQUIRES: a value without a name is a
// message.
void write_member(JsonWriter& writer, std::string_view name, const Value& value, const WriteMessage& write_message);

}  // namespace recordfs
