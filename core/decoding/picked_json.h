// Picks values out of JSON text that recordfs wrote: valid, and without white space.
//
// A path is names of members joined by dots: "user.name". It goes through a list to each of its elements. A name may
// contain dots itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

// Calls `take` with the name, as it is written, without quotes, and the value of each member of an object. Stops at
// text that is not JSON. Thread-safe.
void each_json_member(std::string_view object,
                      const std::function<void(std::string_view name, std::string_view value)>& take);

// Returns the values at a path as text, one a line: strings without quotes and escapes, anything else as JSON. nullopt
// if there is none. Thread-safe.
std::optional<std::string> json_text_at(std::string_view json, std::string_view path);

// Returns the same JSON without members to which, and into which, no path leads. Thread-safe.
std::string pick_json(std::string_view json, const std::vector<std::string>& paths);

}  // namespace recordfs
