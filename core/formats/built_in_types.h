// Descriptors of protobuf types that recordfs brings, for formats whose files have messages of a known type but no
// descriptors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace recordfs {

// The number of the option of such a bytes field, among those that protobuf leaves to its users; its value is the text
// after the question mark.
inline constexpr int kTypeOfBytes = 87203;

// Returns a serialized google.protobuf.FileDescriptorSet with the types of one package, as proto3 has them. `types` has
// a line for each of these:
//
//   message NAME                   begins a message; the lines up to the next type are its fields
//   enum NAME                      begins an enumeration; the lines that follow are "NAME NUMBER". MESSAGE.NAME is
//   inside
//                                  a message
//   TYPE NAME NUMBER               a field. TYPE is a scalar type of protobuf, or the name of a type in the text, or
//                                  google.protobuf.Timestamp, Value or ListValue; with a final *, the field repeats;
//                                  with map: before it, the field is a map from string to TYPE, and NAME is one word
//   TYPE NAME NUMBER ONEOF         a field of a oneof, whose fields are consecutive lines
//   bytes NAME NUMBER ?FIELD=VALUE:MESSAGE   bytes that are a message of this type (its full name) if the string FIELD
//                                  beside them has this value: kTypeOfBytes
//
// REQUIRES: a message precedes what is inside it. Throws std::bad_alloc. Thread-safe.
std::shared_ptr<const std::string> built_in_types(std::string_view package, std::string_view types);

}  // namespace recordfs
