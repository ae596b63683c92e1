// Guesses the media type of a file from its bytes, for user.mime_type.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// How many of a file's first bytes media_type() needs.
inline constexpr std::size_t kBytesOfMediaType = 4096;

// Returns the media type of a file that starts with `first`: image/png, image/jpeg, application/gzip, application/zstd
// or application/x-sqlite3 by its signature. UTF-8 without control characters other than tab, CR and LF is text/plain;
// charset=utf-8, or application/json if it starts with { or [. Anything else is application/octet-stream. Unless
// `is_all`, the last character may be incomplete. Static storage. Thread-safe.
std::string_view media_type(Bytes first, bool is_all);

}  // namespace recordfs
