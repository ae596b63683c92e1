// The records of the benchmarks: equal numbers give equal records on every machine.
#pragma once

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
};

// Parses "lines", "tiny", "large", "events", or "examples"; returns nullopt for any other name. Thread-safe.
std::optional<Kind> kind_named(std::string_view name);

// Returns record `number`. Thread-safe.
std::string record(Kind kind, std::uint64_t number);

// Returns a log line of `size` bytes. Thread-safe.
std::string line_of_size(std::uint64_t size, std::uint64_t number);

// Returns record(kind, number).size(), without creating the record if possible (not for messages). Thread-safe.
std::uint64_t record_size(Kind kind, std::uint64_t number);

}  // namespace recordfs::bench
