// How much the environment asks of tests that try one thing many times.
#pragma once

#include <cstdlib>

namespace recordfs::testing {

// Returns whether RECORDFS_THOROUGH is 2 or more: such tests then try everything.
inline bool is_thorough() {
  const char* const text = std::getenv("RECORDFS_THOROUGH");
  return text != nullptr && std::strtoull(text, nullptr, 10) >= 2;
}

}  // namespace recordfs::testing
