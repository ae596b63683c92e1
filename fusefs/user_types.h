// Reads the record types that a command line names.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/decoding/user_types.h"

namespace recordfs {

// Reads a file of descriptors, as `protoc --descriptor_set_out` writes it; `type` may be empty. Without a file, `type`
// is one that containers describe. Fails with kIo if the file cannot be read, with kLimit if it exceeds 256 MiB, and as
// user_types() does. Thread-safe.
Result<UserTypes> read_user_types(const std::string& descriptors, const std::string& type);

}  // namespace recordfs
