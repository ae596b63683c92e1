// Dates in headers and listings of HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace recordfs::fetch {

// Returns the seconds since 1970 of a date in one of the three forms of RFC 9110, section 5.6.7; nullopt: it is none,
// or before 1970.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace recordfs::fetch
