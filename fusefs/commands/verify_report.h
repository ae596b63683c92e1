// What verify says of a file: lines for people, or an object for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fusefs/commands/verification.h"

namespace recordfs {

// What became of one file.
struct Outcome {
  std::string path;
  std::string_view format{};  // empty where nobody knows
  std::optional<std::uint64_t> size{};
  std::optional<Verdict> verdict{};      // nullopt: it was not read
  std::optional<Error> failure{};        // why it could not be opened or listed
  std::optional<std::int64_t> passed{};  // seconds since 1970: it passed then, and is as it was
  bool is_passed_by = false;             // below a directory, and no container

  // "good", "empty" (a file of no bytes), "damaged", "unreadable", "unsupported", or "unchecked" (memory was short).
  std::string_view state() const;
  int status() const;
};

// Returns a line for each finding that counts, or for an empty file. Each ends with a newline. A good file has none.
std::string findings_text(const Outcome& outcome);

// One object in one line, with a newline.
std::string outcome_json(const Outcome& outcome);

}  // namespace recordfs
