// When a failed request is sent again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace recordfs::fetch {

using Milliseconds = std::chrono::milliseconds;

// Returns how long to wait before the retry with this number, from 1 on: backoff with full jitter. `random`: any
// number.
Milliseconds retry_delay(int retry, std::uint64_t random);

// Returns what Retry-After says, in seconds or as a date; nullopt: nothing that can be used. `date`: the response's.
std::optional<Milliseconds> retry_after(std::string_view value, std::string_view date);

}  // namespace recordfs::fetch
