// What the fuzz targets and the replay do with one input.
#pragma once

#include <string_view>

#include "core/formats/registry.h"

namespace recordfs::fuzz {

// The format whose folder under core/formats/ is named `folder`. Stops the program when there is none.
const Format& format_in(std::string_view folder);

// Takes `input` for a file of `format`, does all that a container offers with it, and stops the program
// with a message when a rule of the contract is broken. The last bytes of the input pick the options
// and stay part of the file, so a seed is a real file. Time and memory are bounded by the limits set
// here, so a slow or hungry input is a finding.
void drive(const Format& format, Bytes input);

}  // namespace recordfs::fuzz
