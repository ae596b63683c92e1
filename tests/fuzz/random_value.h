// A value that no format tells, made from any bytes.
#pragma once

#include <string_view>

#include "core/formats/value.h"

namespace recordfs::fuzz {

// Its bytes, texts and messages are pieces of `bytes`, and its messages are of `type`: both have to outlive it. It
// keeps to what core/formats/value.h asks of formats.
Value random_value(Bytes bytes, std::string_view type);

}  // namespace recordfs::fuzz
