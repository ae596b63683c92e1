// The folder of a format's samples and sources.
#pragma once

#include <string>

#include "core/formats/registry.h"

namespace recordfs::contract {

// Returns the format's name in lower case, with '_' for every character that is not a letter or digit.
std::string folder_of(const Format& format);

}  // namespace recordfs::contract
