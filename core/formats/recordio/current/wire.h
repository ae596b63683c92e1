// The frame of the current format: 32 KiB of file, a header and a fragment of a chunk. FORMAT.md, "Frame".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace recordfs::recordio {

inline constexpr std::uint64_t kFrameSize = 32768;
inline constexpr std::uint32_t kFrameHeaderSize = 28;
inline constexpr std::uint32_t kLargestFragment = 32740;

// What a chunk is, as its magic says.
enum class Kind : std::uint8_t { kHeader, kBody, kTrailer };

// "header", "body", "trailer". Static storage.
std::string_view to_string(Kind kind);
// The kind of which to_string() gave the word.
Kind kind_of(std::string_view word);

// A header that says what a header may say: size <= kLargestFragment, index < total. Only a checksum tells
// whether it is one.
struct FrameHeader {
  Kind kind = Kind::kBody;
  std::uint32_t checksum = 0;  // of all behind it, to the fragment's end
  std::uint32_t size = 0;      // of the fragment
  std::uint32_t total = 0;     // frames of the chunk
  std::uint32_t index = 0;     // of this one

  // From the frame's begin to the fragment's end: what the file must hold for the frame to be readable.
  std::uint64_t used() const { return kFrameHeaderSize + size; }
  // Whether it is number `number` of the chunk that `first` begins.
  bool continues(const FrameHeader& first, std::uint64_t number) const {
    return kind == first.kind && total == first.total && index == number;
  }
};

// The header at the beginning of `head`; nullopt when there is none, or too few bytes. Any thread.
std::optional<FrameHeader> parse_frame_header(Bytes head);

// Whether a frame's checksum matches. REQUIRES: frame.size() >= header.used(), and `header` is the frame's. Any thread.
bool checksum_matches(const FrameHeader& header, Bytes frame);

// Whether `head` may be the beginning of a frame header that the file's end cuts off. Any thread.
bool is_cut_header(Bytes head);

// Where the next magic of a frame stands in `bytes`, from `from` on; bytes.size() when there is none. Any thread.
std::size_t find_magic(Bytes bytes, std::size_t from);

}  // namespace recordfs::recordio
