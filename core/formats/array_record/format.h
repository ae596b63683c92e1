// The ArrayRecord format: Riegeli/records with an index of the chunks at the end. FORMAT.md describes the files.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::array_record {

extern const Format kFormat;

}  // namespace recordfs::array_record
