// proio streams, as far as they are read: those without buckets. See FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::proio {

// Bids 1 on a file of zero bytes whose name ends in ".proio", and refuses every other.
extern const Format kFormat;

}  // namespace recordfs::proio
