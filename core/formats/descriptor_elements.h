// The structure of descriptors of protobuf types, read without libprotobuf.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"

namespace recordfs {

// The messages of google/protobuf/descriptor.proto.
enum class DescriptorElement : std::uint8_t {
  kNone,  // not examined
  kFile,
  kMessage,
  kField,
  kEnum,
  kEnumValue,
  kOneof,
  kRange,
  kService,
  kMethod,
  kOptions,
};

inline constexpr std::uint32_t kDescriptorName = 1;  // the field of all elements with a name

// Returns what a field of an element is. Thread-safe.
DescriptorElement child_of(DescriptorElement parent, const protobuf::Field& field);

// Returns whether the bytes are a FileDescriptorProto with a name, all of whose elements are valid messages. Elements
// that are nested more than `depth_limit` deep are not examined. Thread-safe.
bool is_file_descriptor(Bytes bytes, std::uint32_t depth_limit);

}  // namespace recordfs
