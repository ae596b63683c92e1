// The proio format: buckets of events with metadata. FORMAT.md describes the files.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::proio {

extern const Format kFormat;

}  // namespace recordfs::proio
