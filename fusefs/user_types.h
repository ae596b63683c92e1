// The types of records that are named on a command line.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/decoding/user_types.h"

namespace recordfs {

// Reads a file of descriptors, as `protoc --descriptor_set_out` writes it, for a type that may be ""; without a file
// the type is one that containers describe. Fails with kIo where the file can't be read, and as user_types() does. Any
// thread.
Result<UserTypes> read_user_types(const std::string& descriptors, const std::string& type);

}  // namespace recordfs
