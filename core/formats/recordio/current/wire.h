// The frame of the current format: 32 KiB of the file, with a header and a fragment of a chunk. FORMAT.md, "Frame".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace recordfs::recordio {

inline constexpr std::uint64_t kFrameSize = 32768;
inline constexpr std::uint32_t kFrameHeaderSize = 28;
inline constexpr std::uint32_t kLargestFragment = 32740;

// The kind of a chunk, given by its magic.
enum class Kind : std::uint8_t { kHeader, kBody, kTrailer };

// Returns "header", "body" or "trailer". Static storage.
std::string_view to_string(Kind kind);
// Returns the kind for a word from to_string().
Kind kind_of(std::string_view word);

// A frame header with plausible values: size <= kLargestFragment, index < total. Only the checksum shows whether it
// is genuine.
struct FrameHeader {
  Kind kind = Kind::kBody;
  std::uint32_t checksum = 0;  // of all bytes after it, up to the end of the fragment
  std::uint32_t size = 0;      // of the fragment
  std::uint32_t total = 0;     // frames of the chunk
  std::uint32_t index = 0;     // of this one

  // Returns the size from the frame's begin to the fragment's end, which must be in the file for the frame to be
  // readable.
  std::uint64_t used() const { return kFrameHeaderSize + size; }
  // Returns whether this is frame `number` of the chunk that begins with `first`.
  bool continues(const FrameHeader& first, std::uint64_t number) const {
    return kind == first.kind && total == first.total && index == number;
  }
};

// Parses the header at the start of `head`. Returns nullopt if there is none or too few bytes. Any thread.
std::optional<FrameHeader> parse_frame_header(Bytes head);

// Returns whether the frame's checksum matches. REQUIRES: frame.size() >= header.used(), and `header` is the frame's.
// Any thread.
bool checksum_matches(const FrameHeader& header, Bytes frame);

// Returns whether `head` can be a frame header cut off by the end of the file. Any thread.
bool is_cut_header(Bytes head);

// Returns the offset of the next frame magic in `bytes` at or after `from`; bytes.size() if there is none. Any
// thread.
std::size_t find_magic(Bytes bytes, std::size_t from);

}  // namespace recordfs::recordio
