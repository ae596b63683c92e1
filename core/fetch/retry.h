// When a failed request is sent again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

using Milliseconds = std::chrono::milliseconds;

// Returns whether a later request may get another status.
bool is_passing(long status);

// Returns how long to wait before the retry with this number, from 1 on: backoff with full jitter. `random`: any
// number.
Milliseconds retry_delay(int retry, std::uint64_t random);

// Returns what Retry-After says, in seconds or as a date; nullopt: nothing that can be used. `date`: the response's.
std::optional<Milliseconds> retry_after(std::string_view value, std::string_view date);

// Returns what a status means of a server that no origin explains: the target of a redirect.
Failure explain_status(long status, std::string_view host);

}  // namespace recordfs::fetch
