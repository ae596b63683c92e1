// The records of the benchmarks: equal numbers give equal records on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::bench {

enum class Kind : std::uint8_t {
  kLines,     // like log lines: 200 to 1,000 bytes of ASCII text without a newline
  kTiny,      // a number and a word: 5 to 30 bytes
  kLarge,     // 200,000,000 bytes of log lines, each with its newline
  kEvents,    // a log line as a protobuf message of several fields, for formats that transpose messages
  kExamples,  // a tensorflow.Example of about 1,100 bytes: two integers, a line, 32 floats, and an image
  kWide,      // a protobuf message of kWideFields fields, most of them numbers of 8 bytes
};

inline constexpr std::size_t kWideFields = 40;
// Returns whether a field of kWide is a text. Fields have the numbers from 1 on.
constexpr bool is_text_in_wide(std::size_t field) { return field % 4 == 0; }

// Parses the name of a kind, as "lines" or "wide"; returns nullopt for any other name. Thread-safe.
std::optional<Kind> kind_named(std::string_view name);

// Returns record `number`. Thread-safe.
std::string record(Kind kind, std::uint64_t number);

// Returns a log line of `size` bytes. Thread-safe.
std::string line_of_size(std::uint64_t size, std::uint64_t number);

// Returns record(kind, number).size(), without creating the record if possible (not for messages). Thread-safe.
std::uint64_t record_size(Kind kind, std::uint64_t number);

}  // namespace recordfs::bench
