// The two words everything else is said in: a run of bytes, and a place in a container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace recordfs {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Byte offset in a container, from 0.
using Position = std::uint64_t;

// Copies all of `from` to the begin of `to`, as one move of memory. REQUIRES: from.size() <= to.size(), no overlap.
inline void copy_bytes(Bytes from, MutableBytes to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// Whether there is no byte but zeros.
inline bool are_zeros(Bytes bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// The same bytes as characters. Only for text that the project made, or for names and log lines.
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace recordfs
