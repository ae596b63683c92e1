// GRAIL recordio, the current format and the legacy one. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::recordio {

extern const Format kFormat;

}  // namespace recordfs::recordio
