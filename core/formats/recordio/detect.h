// Which of the two formats a file has, if one. FORMAT.md, "Which format".
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/registry.h"

namespace recordfs::recordio {

enum class Variant : std::uint8_t { kNone, kCurrent, kLegacy };

struct Detected {
  Variant variant = Variant::kNone;
  int bits = 0;  // that speak for it
};

// By the first frames or the first record.
Result<Detected> detect_by_head(const Source& source);
// By anything that is sound in the first `limit` bytes, at any place.
Result<Detected> detect_by_search(const Source& source, std::uint64_t limit);
// By frames of the current format at the multiples of their size in the first `limit` bytes: what is left when the
// head is destroyed, and what no file has by chance that only holds another one.
Result<Detected> detect_by_frames(const Source& source, std::uint64_t limit);

}  // namespace recordfs::recordio
