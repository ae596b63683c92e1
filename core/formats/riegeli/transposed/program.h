// The header of a transposed chunk as a program: a list of nodes. Each node puts bytes in front of the output and names
// its successor. FORMAT.md, "Transposed chunks", explains the machine.
//
// A Program is always valid: every index in it is in range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {

struct Buffers {
  std::vector<UnitContent> buckets;
  std::vector<Bytes> buffers;  // views into the buckets or into the chunk's data
};

struct BufferLimits {
  std::uint64_t bytes = 0;  // of all buffers together
  std::uint64_t count = 0;  // of buffers, and of buckets
};

// Parses the counts and lengths at the start of the header and takes the buckets from `data`. The buffers must use up
// every bucket, and no buffer crosses buckets. Fails with kDamage, with kLimit if the buffers exceed `limits`, and as
// the codec does. `data` must outlive the result.
Result<Buffers> open_buffers(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                             const BufferLimits& limits);

// Returns an error about the chunk's content.
inline Error damage(std::string_view detail) { return {.code = Code::kDamage, .detail = std::string(detail)}; }

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

struct Node {
  // Up to 6 bytes that the node puts, as the last bytes of a little-endian word.
  std::uint64_t constant = 0;
  // The continuation bits of a varint of up to 8 bytes, as the last bytes of a word.
  std::uint64_t continuation = 0;
  std::uint32_t next = 0;
  // The index of a buffer; the number of buffers if the node reads none.
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

// Parses the header after the lengths of buckets and buffers, up to its end. Fails with kDamage. Fails with kLimit,
// before allocating, if there are more than `node_limit` nodes.
Result<Program> parse_program(const RequestContext& context, Cursor& header, std::size_t buffer_count,
                              std::uint64_t node_limit);

}  // namespace recordfs::riegeli::transposed
