// The records of the benchmarks: the same ones for the same numbers, everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::bench {

enum class Kind : std::uint8_t {
  kLines,   // like the lines of a log: 200 to 1,000 bytes of ASCII text without a newline
  kTiny,    // a number and a word: 5 to 30 bytes
  kLarge,   // 200,000,000 bytes of log lines, each with its newline
  kEvents,  // a log line as a protobuf message of several fields, for formats that take messages apart
};

// "lines", "tiny", "large", "events"; nullopt for any other name. Any thread.
std::optional<Kind> kind_named(std::string_view name);

// Record `number`. Any thread.
std::string record(Kind kind, std::uint64_t number);

// record(kind, number).size(), without making the record where the kind allows it (kEvents does not). Any thread.
std::uint64_t record_size(Kind kind, std::uint64_t number);

}  // namespace recordfs::bench
