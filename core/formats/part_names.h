// The names and contents of a record's parts, which a Value describes. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "core/formats/value.h"

namespace recordfs {

// Returns the message that a value is or ends with; null if there is none.
const Message* message_in(const Value& value);
// Returns the name of an element of a list: its number if it begins with one and ends with a message, and otherwise its
// index. `at_top`: the list is the record's own.
std::string name_in_list(const Value& element, std::size_t index, bool at_top);
// Returns a number or a text as a line, or as several; nothing for empty text and other values.
std::string line_of(const Value& value);

}  // namespace recordfs
