// What librecordfs-protobuf.so is to the rest: types of protobuf messages, made from descriptors, that write messages
// as JSON. The one header that both sides have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// The reason where there was no memory.
inline constexpr std::string_view kNoMemory = "no memory";

// The message types of a set of files. Any thread. Throws nothing.
class MessageTypes {
 public:
  virtual ~MessageTypes() = default;

  // Writes a message of the type with this full name, in protobuf's JSON, under the names of the .proto. False where it
  // can't be decoded: `why` says why, and what was written is to be taken back.
  virtual bool write(std::string_view type, Bytes message, JsonWriter& writer, std::string& why) const noexcept = 0;
};

// What the module hands out. It lives as long as the program.
struct ProtobufModule {
  const char* build;  // RECORDFS_MODULE_BUILD of the build that it belongs to
  const char* libprotobuf_version;
  // Types from files, each a serialized FileDescriptorProto, those that a file imports before it where they are there.
  // A file that can't be built is left out, and the reason told for each of its types. Null when there is no memory.
  MessageTypes* (*make_types)(const Bytes* files, std::size_t count) noexcept;
};

// The module's one function.
inline constexpr const char* kProtobufModuleName = "librecordfs-protobuf.so";
inline constexpr const char* kProtobufModuleEntry = "recordfs_protobuf_module";
using ProtobufModuleEntry = const ProtobufModule* (*)();

}  // namespace recordfs
