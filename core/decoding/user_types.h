// Types supplied by the user for records without type information.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"

namespace recordfs {

struct UserTypes {
  std::shared_ptr<const std::string> descriptors{};  // a serialized FileDescriptorSet; null if not supplied
  std::string type{};                                // full name of the type of every record; "" if not supplied
};

// Validates user-supplied types. `descriptors` is a serialized FileDescriptorSet, as written by `protoc
// --descriptor_set_out`. `type` is the full name of a message type in it. It may be empty if the set has exactly one
// top-level message type.
//
// Fails with kDamage if the bytes are not a valid set, with kNotFound if the type is not in it or must be named, and
// with kLimit. Thread-safe.
Result<UserTypes> user_types(std::string descriptors, std::string type);

}  // namespace recordfs
