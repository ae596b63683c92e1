// Numbers of things in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs {

// Returns "1 record" or "2 records": the count, and the noun in the form that goes with it.
inline std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace recordfs
