// The header of a transposed chunk as a program: a list of nodes. Each node puts bytes in front of the output and names
// its successor. FORMAT.md, "Transposed chunks", explains the machine.
//
// A Program is always valid: every index in it is in range.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

namespace recordfs::riegeli::transposed {

enum class Action : std::uint8_t {
  kNothing,
  kConstant,         // put the constant: a group tag, or a tag with a one-byte value
  kValue,            // take up to 8 bytes from the buffer, set continuation bits, put them, put the constant
  kLongVarint,       // the same with 9 or 10 bytes
  kString,           // take a length and that many bytes, put both unchanged, put the constant
  kSubmessageEnd,    // push the output position; kSubmessageStart puts the constant
  kSubmessageStart,  // pop, put the length of the submessage, put the constant of the node that pushed
  kRecordStart,      // a record of fields begins here
  kPlainRecord,      // take a length from the last buffer and that many bytes from this one: a whole record
};

// The kind of a field: its tag mod 8. These two are wire types of protobuf.
inline constexpr std::uint32_t kKinds = 8;
inline constexpr std::uint32_t kGroupStart = 3;
inline constexpr std::uint32_t kGroupEnd = 4;

struct Node {
  // Up to 6 bytes that the node puts, as the last bytes of a little-endian word.
  std::uint64_t constant = 0;
  // The continuation bits of a varint of up to 8 bytes, as the last bytes of a word.
  std::uint64_t continuation = 0;
  std::uint32_t next = 0;
  // The index of a buffer; the number of buffers if the node reads none.
  std::uint32_t buffer = 0;
  std::uint32_t tag = 0;  // of a field; 0: the node is of no field
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

// Parses the header after the lengths of buckets and buffers, up to its end. Fails with kDamage. Fails with kLimit,
// before allocating, if there are more than `node_limit` nodes.
Result<Program> parse_program(const RequestContext& context, Cursor& header, std::size_t buffer_count,
                              std::uint64_t node_limit);

}  // namespace recordfs::riegeli::transposed
