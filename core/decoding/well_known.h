// The texts that protobuf's JSON mapping has for messages of google.protobuf.Timestamp, Duration and FieldMask:
// https://protobuf.dev/programming-guides/json/. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs {

// The fields of a Timestamp or a Duration.
struct TimeParts {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

// Return "2023-11-14T22:13:20.500Z" and "-1.500s", with 0, 3, 6 or 9 digits after the point; nullopt if the time is out
// of the range of its type.
std::optional<std::string> timestamp_text(const TimeParts& time);
std::optional<std::string> duration_text(const TimeParts& time);

// Appends a path of a FieldMask, "a_b.c" as "aB.c", after a comma if there is one before. Returns false if it has no
// such form.
bool append_mask_path(std::string& text, std::string_view path);

}  // namespace recordfs
