// Riegeli/records: the format's entry in the list of formats. FORMAT.md says how the files look.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::riegeli {

extern const Format kFormat;

}  // namespace recordfs::riegeli
