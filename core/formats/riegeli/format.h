// The Riegeli/records format. FORMAT.md describes the files.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::riegeli {

extern const Format kFormat;

}  // namespace recordfs::riegeli
