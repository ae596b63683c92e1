// The fuzz target that compares the views of one container.
#include "tests/fuzz/expect.h"
#include "tests/fuzz/mounted_input.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/views.h"

namespace recordfs::fuzz {

namespace {

void run_views_input(Bytes input) {
  // File names of a container that is the mount's root, and records without a suffix.
  constexpr std::uint64_t kNames = 64 | 128;
  if (const auto mounted = MountedInput::open(input, options_of(input) & ~kNames)) compare_views(*mounted, input);
}

}  // namespace

Target views_target() { return {.run_input = run_views_input, .mutator_for = mutator_by_format}; }

}  // namespace recordfs::fuzz
