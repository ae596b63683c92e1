// What a status of HTTP means to a user, and the headers that say which bytes of an object are wanted.
#pragma once

#include <string>
#include <string_view>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Returns whether a later request may get another status: of 408, 429 and those of a server in trouble.
bool may_pass(long status);

// Returns the failure that a status means if nothing else is known: kRetry if the status may pass.
// `explanation` follows the status in the text; empty: the usual words for it.
Failure http_failure(long status, const std::string& explanation = {});

// Returns a server's text as it may be part of a message: on one line, and not longer than 200 bytes.
std::string quoted_text(std::string_view text);

// Appends Range and If-Match. REQUIRES: range.begin < range.end, or range.end is 0.
void append_range(const ObjectRange& range, HttpRequest& request);

}  // namespace recordfs::fetch
