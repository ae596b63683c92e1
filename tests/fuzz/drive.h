// Processes one input, for the fuzz targets and the replay.
#pragma once

#include <string_view>

#include "core/formats/registry.h"
#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

// Returns the format whose folder under core/formats/ is `folder`. Ends the program if there is none.
const Format& format_in(std::string_view folder);

// Returns the mutator for files of a format, or that of the format on which it is built; null if there is none.
const Mutator* mutator_for(const Format& format);

// Treats `input` as a file of `format`, calls everything that a container offers, and ends the program with a message
// if a rule of the contract is violated. The last bytes of the input select the options and remain part of the file, so
// a seed is a real file. The limits bound time and memory, so an input that exceeds them is a finding.
void drive(const Format& format, Bytes input);

}  // namespace recordfs::fuzz
