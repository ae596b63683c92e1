// Message types from librecordfs-protobuf.so, which is loaded on first use, because most runs of the program do not
// need it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/decoding/message_types.h"

namespace recordfs {

// Returns the types of a serialized FileDescriptorSet, from a cache of the process if an equal set was used recently.
// Files with the same descriptors share them, and so do the chunks of a file. Fails as read_descriptor_set(), with
// kUnsupported if there is no module, and with kOutOfMemory. Thread-safe; builds one set at a time.
Result<std::shared_ptr<const MessageTypes>> shared_types(const std::shared_ptr<const std::string>& descriptors);

// Loads the module now, for programs that later cannot open files. Thread-safe.
void open_protobuf_module();

// Returns the files and directories that open_protobuf_module() reads: the module, and where the dynamic linker looks
// for libraries; none if the module is a part of the program. Thread-safe.
std::vector<std::string> protobuf_module_places();

// Returns the version of libprotobuf, or "" if it is not available. Thread-safe.
std::string protobuf_version();

}  // namespace recordfs
