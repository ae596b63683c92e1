// The frame around each record: a length and its checksum before the data, a checksum after it. FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/framed.h"

namespace recordfs::tfrecord {

inline constexpr std::uint64_t kHeaderSize = 12;  // the length and its checksum
inline constexpr std::uint64_t kFooterSize = 4;   // the checksum of the data
inline constexpr std::uint64_t kFrameSize = kHeaderSize + kFooterSize;

// Returns the length in a record's header; nullopt if its checksum does not match or `header` is shorter than
// kHeaderSize. Any thread.
std::optional<std::uint64_t> sound_length(Bytes header);

// Returns whether `footer` is the checksum of data with the CRC-32C `crc`. Any thread.
bool footer_matches(Bytes footer, std::uint32_t crc);

// Appends a record of `data` with its frame. Throws std::bad_alloc. Any thread.
void append_record(std::string& out, Bytes data);

// As FramedWire.
struct Wire {
  static constexpr std::uint64_t kHeaderSize = tfrecord::kHeaderSize;
  static constexpr std::uint64_t kLeastSize = kFrameSize;
  static constexpr bool kConfirmsByContent = true;
  struct Header {
    std::uint64_t length = 0;  // of the data
    std::uint64_t size() const { return kFrameSize + length; }
    std::uint64_t shown_size() const { return length; }
    bool fits(std::uint64_t room) const { return room >= kFrameSize && length <= room - kFrameSize; }
  };

  static bool may_be_header(const std::byte* bytes, std::uint64_t most) {
    return load_le<std::uint64_t>(bytes) <= most;
  }
  static std::optional<Header> parse(Bytes bytes);
  static std::optional<Header> corrected(Bytes bytes, std::uint64_t room);
  static Result<bool> is_sound(const RequestContext& context, const Source& source, Position at, const Header& header);
  static Error wrong_content(Position begin, Position end);
};

}  // namespace recordfs::tfrecord
