// Makes a Value from arbitrary bytes.
#pragma once

#include <string_view>

#include "core/formats/value.h"

namespace recordfs::fuzz {

// Returns a value that conforms to core/formats/value.h. Its bytes, texts and messages are pieces of `bytes`, and its
// messages have type `type`; both have to outlive it.
Value random_value(Bytes bytes, std::string_view type);

}  // namespace recordfs::fuzz
