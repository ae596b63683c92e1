// librecordfs-protobuf.so, which is loaded when it is needed first: most runs of the program never do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/message_types.h"

namespace recordfs {

// Types from files, as ProtobufModule::make_types. Fails with kUnsupported where there is no module, and with
// kOutOfMemory. Any thread.
Result<std::shared_ptr<const MessageTypes>> make_message_types(const std::vector<Bytes>& files);

// Does now what the first of the other two would do: for who may open no file later. Any thread.
void open_protobuf_module();

// The version of libprotobuf; "" where it is not there. Any thread.
std::string protobuf_version();

}  // namespace recordfs
