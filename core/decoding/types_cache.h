// A process-wide cache of message types. Files with the same descriptors share them, and so do the chunks of a file.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/decoding/message_types.h"

namespace recordfs {

// Returns the types of a serialized FileDescriptorSet, from the cache if an equal set was used recently. Fails as
// read_descriptor_set() and make_message_types(). Thread-safe; builds one set at a time.
Result<std::shared_ptr<const MessageTypes>> shared_types(const std::shared_ptr<const std::string>& descriptors);

}  // namespace recordfs
