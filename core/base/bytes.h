// Vocabulary types: byte spans and file offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace recordfs {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// A byte offset in a container, from 0.
using Position = std::uint64_t;

// Copies `from` to the beginning of `to`. REQUIRES: from.size() <= to.size(), and no overlap.
inline void copy_bytes(Bytes from, MutableBytes to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// Returns true for no bytes, too.
inline bool are_zeros(Bytes bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// Only for text that recordfs wrote, and for names and log lines.
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace recordfs
