// Parses the parts of a toy record.
#pragma once

#include "core/base/limits.h"
#include "core/formats/container.h"

namespace recordfs::toy {

// See Container::parts.
Result<Parts> parse_parts(Bytes record, const Limits& limits);

}  // namespace recordfs::toy
