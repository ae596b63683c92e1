// Keys of databases as text: one line, from which the exact bytes can be read back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// Returns the key on one line: a backslash becomes "\\", and each byte of a control character or of invalid UTF-8
// becomes "\xHH". Other characters stay as they are. printf %b of a shell reverses it. Thread-safe.
std::string escaped_key(Bytes key);

// Reverses escaped_key(). Accepts digits in either case, and "\xHH" for any byte. Returns nullopt if a backslash is not
// followed by another one or by xHH. Thread-safe.
std::optional<std::string> unescaped_key(std::string_view text);

}  // namespace recordfs
