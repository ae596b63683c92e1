// The functions that each fuzz target defines: one processes an input, the other selects its mutator.
#pragma once

#include "core/base/bytes.h"
#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

// Ends the program with a message if a rule is violated. Internal limits bound time and memory, so an input that
// exceeds them is a finding.
void run_input(Bytes input);

// Returns the mutator that keeps an input like this one valid, or null if there is none.
const Mutator* mutator_for(Bytes input);

}  // namespace recordfs::fuzz
