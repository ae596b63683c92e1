// What each fuzz target defines: what is done with one input, and who knows how to change such inputs.
#pragma once

#include "core/base/bytes.h"
#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

// Stops the program with a message when a rule is broken. Time and memory are bounded by limits that are set inside, so
// a slow or hungry input is a finding.
void run_input(Bytes input);

// Whose change keeps an input like this one sound; null: nobody's.
const Mutator* mutator_for(Bytes input);

}  // namespace recordfs::fuzz
