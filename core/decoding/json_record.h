// Records that are texts of JSON.
#pragma once

#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/json_writer.h"
#include "core/formats/json_text.h"

namespace recordfs {

// Returns whether a record begins as an object of JSON does. Only objects have columns. Any thread.
bool may_be_json_object(Bytes record);

// Returns the value of a record that is a text of JSON (RFC 8259) in UTF-8; inside lists and objects, NaN, Infinity and
// -Infinity are accepted. Returns nullopt for all other records. Fails with kUnsupported if a string has half of a
// surrogate pair, and if there are more than 100 levels or 1,048,576 values. Any thread.
Result<std::optional<JsonValue>> json_of_record(Bytes record);

// Returns the members of an object, of several with one name the last one. Any thread.
std::vector<const JsonValue*> members_of(const JsonValue& object);

// Writes the value: numbers as they are in the record, NaN and the infinities as JsonWriter::number() does, and of
// several members with one name the last one.
void write_json(JsonWriter& writer, const JsonValue& value);

}  // namespace recordfs
