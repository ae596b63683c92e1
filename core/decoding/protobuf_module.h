// Loads librecordfs-protobuf.so on first use, because most runs of the program do not need it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/message_types.h"

namespace recordfs {

// Builds types from files, as ProtobufModule::make_types(). Fails with kUnsupported if there is no module, and with
// kOutOfMemory. Thread-safe.
Result<std::shared_ptr<const MessageTypes>> make_message_types(const std::vector<Bytes>& files);

// Loads the module now, for programs that later cannot open files. Thread-safe.
void open_protobuf_module();

// Returns the version of libprotobuf, or "" if it is not available. Thread-safe.
std::string protobuf_version();

}  // namespace recordfs
