// Detects which of the two formats a file has, if any. FORMAT.md, "Which format".
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/registry.h"

namespace recordfs::recordio {

enum class Variant : std::uint8_t { kNone, kCurrent, kLegacy };

struct Detected {
  Variant variant = Variant::kNone;
  int bits = 0;  // matching bits, the strength of the evidence
};

// Checks the first two frames or the first record. Each function here fails as Source does.
Result<Detected> detect_by_head(const Source& source);
// Searches the first `limit` bytes for a valid frame or record at any position.
Result<Detected> detect_by_search(const Source& source, std::uint64_t limit);
// Checks for frames of the current format at multiples of the frame size in the first `limit` bytes. This still works
// if the head is destroyed, and does not mistake a file that merely contains recordio data.
Result<Detected> detect_by_frames(const Source& source, std::uint64_t limit);

}  // namespace recordfs::recordio
