// Base64 encoding (RFC 4648).
#pragma once

#include <string>

#include "core/base/bytes.h"

namespace recordfs {

// Appends `bytes` to `text` in base64, with padding. Data may be appended in pieces if each piece but the last has a
// multiple of 3 bytes. Thread-safe.
void append_base64(std::string& text, Bytes bytes);

}  // namespace recordfs
