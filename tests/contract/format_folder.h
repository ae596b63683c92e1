// The folder of a format's samples and sources.
#pragma once

#include <string>

#include "core/formats/registry.h"

namespace recordfs::contract {

// The format's name in lower case, with '_' for what is no letter or digit.
std::string folder_of(const Format& format);

}  // namespace recordfs::contract
