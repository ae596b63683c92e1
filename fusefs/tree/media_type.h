// What kind of file bytes look like, for user.mime_type.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// How many of a file's first bytes are enough.
inline constexpr std::size_t kBytesOfMediaType = 4096;

// The media type of a file that begins with `first`: text/plain; charset=utf-8 for UTF-8 without control characters but
// tabs and ends of lines, application/json where that begins with { or [, and image/png, image/jpeg, application/gzip,
// application/zstd, application/x-sqlite3 by their first bytes. application/octet-stream for all others. `is_all`:
// nothing follows; otherwise the last character may be cut. Static storage. Any thread.
std::string_view media_type(Bytes first, bool is_all);

}  // namespace recordfs
