// Mutations of protobuf messages, for mutators of formats that contain them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"
#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

struct FieldPlace {
  protobuf::Field field;
  std::size_t begin = 0;    // of its tag
  std::size_t content = 0;  // of the bytes after its tag and length
  std::size_t end = 0;
};

// Returns the fields of a message, up to the first malformed one.
std::vector<FieldPlace> fields_of(Bytes message);

// Appends a varint field.
void append_number(std::string& message, std::uint32_t field, std::uint64_t value);

// Changes one field of the message or of a nested message, and corrects the lengths around it.
std::string change_message(Bytes message, std::minstd_rand& random, const ChangeBytes& change);

}  // namespace recordfs::fuzz
