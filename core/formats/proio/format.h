// proio streams: buckets of events with metadata. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::proio {

extern const Format kFormat;

}  // namespace recordfs::proio
