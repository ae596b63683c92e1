// The interface of librecordfs-protobuf.so: types of protobuf messages, built from descriptors, that write messages as
// JSON. The only header that the program and the module share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// The value of `why` if out of memory.
inline constexpr std::string_view kNoMemory = "no memory";
// The value of `why` if the set has no such type.
inline constexpr std::string_view kNoDescriptor = "no descriptor of this type";

// The message types of a set of files. Thread-safe. Functions do not throw.
class MessageTypes {
 public:
  virtual ~MessageTypes() = default;

  // Writes a message of the named type as protobuf JSON, with the field names of the .proto file. Returns false and
  // sets `why` if the message cannot be decoded; the caller must then take back the output.
  virtual bool write(std::string_view type, Bytes message, JsonWriter& writer, std::string& why) const noexcept = 0;
};

// The function table of the module. It lives until the program ends.
struct ProtobufModule {
  const char* build;  // RECORDFS_MODULE_BUILD of the matching program
  const char* libprotobuf_version;
  // Builds types from serialized FileDescriptorProtos, sorted so that each follows its imports if they are present. A
  // file that cannot be built is omitted; write() then reports the reason for its types. Returns null if out of memory.
  MessageTypes* (*make_types)(const Bytes* files, std::size_t count) noexcept;
};

// The file name of the module and its only exported function.
inline constexpr const char* kProtobufModuleName = "librecordfs-protobuf.so";
inline constexpr const char* kProtobufModuleEntry = "recordfs_protobuf_module";
using ProtobufModuleEntry = const ProtobufModule* (*)();

}  // namespace recordfs
