// The text of info for people, made of what it prints as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/decoding/json_writer.h"

namespace recordfs {

// Returns a number of an object; 0 if it has none of this name.
std::uint64_t number_in(const JsonObject& object, std::string_view name);
// Returns a member of an object as text; nothing if there is none.
std::string text_in(const JsonObject& object, std::string_view name);

// Return a line with a name and a value, and a size in bytes and units.
std::string row(std::string_view name, const std::string& value);
std::string in_units(std::uint64_t bytes);

// Returns the lines of a container, without the number of records; of a data set; and of parts_list().
std::string table_of(const std::string& path, const JsonObject& info);
std::string table_of_set(const std::string& name, const JsonObject& info);
std::string parts_table(const JsonObject::List& parts);

}  // namespace recordfs
