// Writes protobuf messages of unknown type: field numbers, wire types and content. Thread-safe.
//
//   {"field":1,"wire":"varint","value":"150"}       varint and fixed64 as strings: JSON numbers may lose digits
//   {"field":2,"wire":"bytes","text":"abc"}         or "base64"; never interpreted as a message
//   {"field":5,"wire":"fixed32","value":123}
//   {"field":7,"wire":"group","fields":[...]}
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// Returns whether `bytes` are a valid message that nests at most `depth` groups.
bool is_message(Bytes bytes, std::uint32_t depth);

// Writes the list of a message's fields, up to the first invalid byte.
void write_fields(JsonWriter& writer, Bytes message, std::uint32_t depth);

}  // namespace recordfs
