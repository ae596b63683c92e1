// Changes of protobuf messages, for mutators of what holds some.
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
  std::size_t content = 0;  // of what stands behind its tag, or its length
  std::size_t end = 0;
};

// The fields of a message, up to where it breaks.
std::vector<FieldPlace> fields_of(Bytes message);

// A field of a varint.
void append_number(std::string& message, std::uint32_t field, std::uint64_t value);

// One change of one field, of the message or of one inside it; all lengths around it are right again.
std::string change_message(Bytes message, std::minstd_rand& random, const ChangeBytes& change);

}  // namespace recordfs::fuzz
