#pragma once

#include <cstdint>
#include <string_view>

namespace recordfs {

// Returns the FNV-1a hash of a text. `seed` selects one of many hashes.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = 0xCBF29CE484222325u + seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace recordfs
