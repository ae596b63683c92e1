// The fuzz target of the tree: a random sequence of kernel requests to any container.
#include "tests/fuzz/mounted_input.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/wanderer.h"

namespace recordfs::fuzz {

namespace {

void run_tree_input(Bytes input) {
  const std::uint64_t seed = std::hash<std::string_view>()(as_text(input));
  if (const auto mounted = MountedInput::open(input, seed)) Wanderer(*mounted, seed).wander();
}

}  // namespace

Target tree_target() { return {.run_input = run_tree_input, .mutator_for = mutator_by_format}; }

}  // namespace recordfs::fuzz
