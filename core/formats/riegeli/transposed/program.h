// The header of a transposed chunk as a program: a list of nodes, each of which puts bytes in front of the
// output and names the node that follows. FORMAT.md, "Transposed chunks", explains the machine.
//
// A Program is valid as a whole or does not exist: every index in it is in range.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/result.h"

namespace recordfs::riegeli::transposed {

enum class Action : std::uint8_t {
  kNothing,
  kConstant,         // put the constant: a group's tag, or a tag and a value of one byte
  kValue,            // take up to 8 bytes from the buffer, set continuation bits, put them, put the constant
  kLongVarint,       // the same with 9 or 10 bytes
  kString,           // take a length and as many bytes, put both as they stand, put the constant
  kSubmessageEnd,    // push the place; the constant is put when the submessage begins
  kSubmessageStart,  // pop, put the length between, put the constant of the node that pushed
  kRecordStart,      // a record of fields begins here
  kPlainRecord,      // take a length from the last buffer and as many bytes from this one: a whole record
};

struct Node {
  // Up to 6 bytes that the node puts, as the last bytes of 8 in little-endian order.
  std::uint64_t constant = 0;
  // The continuation bits of a varint of up to 8 bytes, as the last bytes of 8.
  std::uint64_t continuation = 0;
  std::uint32_t next = 0;
  // An index; the number of buffers for a node that reads none.
  std::uint32_t buffer = 0;
  Action action = Action::kNothing;
  std::uint8_t constant_size = 0;
  std::uint8_t value_size = 0;
  // The next node follows without a transition.
  bool implicit = false;
};

struct Program {
  std::vector<Node> nodes;
  std::uint32_t first = 0;
};

// Parses what follows the lengths of buckets and buffers, up to the header's end. Fails with kDamage, and with kLimit
// when there are more than `node_limit` nodes; nothing is allocated then.
Result<Program> parse_program(Cursor& header, std::size_t buffer_count, std::uint64_t node_limit);

}  // namespace recordfs::riegeli::transposed
