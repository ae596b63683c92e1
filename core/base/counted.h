#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs {

// Returns "1 record", "2 records". `noun` is in the singular.
inline std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace recordfs
