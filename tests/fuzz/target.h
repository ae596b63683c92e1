// The fuzz targets by name. Each processes an input, and has a mutator that keeps inputs valid.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

struct Target {
  // Ends the program with a message if a rule is violated. Internal limits bound time and memory, so an input that
  // exceeds them is a finding.
  std::function<void(Bytes input)> run_input;

  // Returns the mutator that keeps an input like this one valid, or null if there is none.
  std::function<const Mutator*(Bytes input)> mutator_for;
};

// Returns the target whose name is a folder of core/formats/, or `database`, `saved_index`, `origins`, `fetcher`,
// `decoding`, `tree` or `views`. Ends the program if there is none in this build.
Target find_target(std::string_view name);

// Returns the names that find_target() accepts.
std::vector<std::string> target_names();

// The targets, for find_target().
Target container_target(std::string_view folder);
Target database_target();
Target saved_index_target();
Target origins_target();
Target fetcher_target();
Target decoding_target();
Target tree_target();
Target views_target();

}  // namespace recordfs::fuzz
