// Bloscpack files: versions 0 to 3, and the proposal for items of variable length. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::bloscpack {

extern const Format kFormat;

}  // namespace recordfs::bloscpack
