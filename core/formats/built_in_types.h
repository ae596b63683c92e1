// Descriptors of protobuf types that recordfs brings, for formats whose files have messages of a known type but no
// descriptors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace recordfs {

// Returns a serialized google.protobuf.FileDescriptorSet with the types of one package, as proto3 has them. `types` has
// a line for each of these:
//
//   message NAME                   begins a message; the lines up to the next type are its fields
//   enum MESSAGE.NAME              begins an enumeration inside a message; the lines that follow are "NAME NUMBER"
//   TYPE NAME NUMBER               a field. TYPE is a scalar type of protobuf, or the name of a type in the text, or
//                                  google.protobuf.Timestamp; with a final *, the field repeats
//   TYPE NAME NUMBER ONEOF         a field of a oneof, whose fields are consecutive lines
//
// REQUIRES: a message precedes what is inside it. Throws std::bad_alloc. Thread-safe.
std::shared_ptr<const std::string> built_in_types(std::string_view package, std::string_view types);

}  // namespace recordfs
