// Formats the results of verify, as lines or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fusefs/commands/verification.h"

namespace recordfs {

// The result for one file.
struct Outcome {
  std::string path;
  std::string_view format{};  // empty: unknown
  std::optional<std::uint64_t> size{};
  std::optional<Verdict> verdict{};      // nullopt: not read
  std::optional<Error> failure{};        // could not be opened or listed
  std::optional<std::int64_t> passed{};  // when it passed (seconds since 1970), unchanged since then
  bool is_passed_by = false;             // below a directory and not a container, or interrupted

  // Returns "good", "empty" (no bytes), "damaged", "unreadable", "unsupported", or "unchecked" (memory was short).
  std::string_view state() const;
  int status() const;
};

// Returns a line for each finding that affects the status, or for an empty file. A good file has none.
std::string findings_text(const Outcome& outcome);

// Returns one JSON object and a newline.
std::string outcome_json(const Outcome& outcome);

}  // namespace recordfs
