// Corrects bytes of which one is wrong, by the CRC-32C that is stored with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/base/bytes.h"

namespace recordfs {

// The most bytes that can be corrected at once.
inline constexpr std::size_t kMostCorrected = 24;

// Changes one byte so that `bytes` match their masked CRC-32C `stored`, or none if the wrong byte may be one of
// `stored`. Calls `accept` for each possibility until it returns true; returns whether it did. Otherwise the bytes are
// unchanged. Any thread. REQUIRES: bytes.size() <= kMostCorrected, and the checksum does not match.
bool correct_one_byte(MutableBytes bytes, std::uint32_t stored, const std::function<bool()>& accept);

}  // namespace recordfs
