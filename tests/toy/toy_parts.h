// What a toy record with parts says.
#pragma once

#include "core/base/limits.h"
#include "core/formats/container.h"

namespace recordfs::toy {

// As Container::parts.
Result<Parts> parse_parts(Bytes record, const Limits& limits);

}  // namespace recordfs::toy
