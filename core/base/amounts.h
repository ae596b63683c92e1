// Numbers as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs {

// Returns a number with commas: 1,234,567.
std::string grouped(std::uint64_t number);

// Returns a size in units: "17 bytes", "1.5 KiB".
std::string short_size(std::uint64_t bytes);

// Parses "90" or "30d" into seconds. Returns nullopt if it is invalid.
std::optional<std::int64_t> seconds_of(std::string_view text);

}  // namespace recordfs
