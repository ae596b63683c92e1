#include "core/formats/riegeli/transposed/decode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/riegeli/transposed/program.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {
namespace {

inline constexpr std::size_t kWordBytes = 8;

// Returns the little-endian word formed by the 8 bytes of `bytes` that end at `end`. REQUIRES: 8 <= end <= size.
inline std::uint64_t word_ending_at(Bytes bytes, std::size_t end) {
  std::array<std::byte, kWordBytes> word;
  copy_bytes(bytes.subspan(end - kWordBytes, kWordBytes), word);
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(word);
  return std::bit_cast<std::uint64_t>(word);
}

// Returns the word whose last bytes are `bytes`. REQUIRES: at most 8 bytes.
inline std::uint64_t short_word(Bytes bytes) {
  std::uint64_t word = 0;
  for (const std::byte byte : bytes) word = word >> 8 | std::to_integer<std::uint64_t>(byte) << 56;
  return word;
}

inline std::array<std::byte, kWordBytes> bytes_of_word(std::uint64_t word) {
  auto bytes = std::bit_cast<std::array<std::byte, kWordBytes>>(word);
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
  return bytes;
}

// A buffer and the read position in it.
struct Input {
  Bytes bytes;
  std::size_t at = 0;

  std::size_t left() const { return bytes.size() - at; }

  // Takes the next `size` bytes as the last bytes of a word. REQUIRES: size <= left(), size <= 8.
  std::uint64_t take_word(std::size_t size) {
    at += size;
    if (at >= kWordBytes) return word_ending_at(bytes, at);
    return short_word(bytes.first(at));
  }

  // REQUIRES: size <= left().
  Bytes take(std::size_t size) {
    at += size;
    return bytes.subspan(at - size, size);
  }
};

// The output, filled from its end. Bytes [0, room()) are not filled yet.
class Output {
 public:
  explicit Output(MutableBytes bytes) : bytes_(bytes), room_(bytes.size()) {}

  std::size_t room() const { return room_; }
  std::size_t written() const { return bytes_.size() - room_; }

  // Puts the last `size` bytes of a word. REQUIRES: size <= room(), size <= 8.
  void put_word(std::uint64_t word, std::size_t size) {
    const auto bytes = bytes_of_word(word);
    if (room_ >= kWordBytes) {
      copy_bytes(bytes, bytes_.subspan(room_ - kWordBytes, kWordBytes));
    } else {
      copy_bytes(Bytes(bytes).last(size), bytes_.subspan(room_ - size, size));
    }
    room_ -= size;
  }

  // Puts the next `size` bytes of an input. REQUIRES: size <= room(), size <= input.left().
  void put_from(Input& input, std::size_t size) {
    constexpr std::size_t kPair = 2 * kWordBytes;
    const Bytes piece = input.take(size);
    if (size <= kPair && input.at >= kPair && room_ >= kPair) {
      copy_bytes(input.bytes.subspan(input.at - kPair, kPair), bytes_.subspan(room_ - kPair, kPair));
    } else {
      copy_bytes(piece, bytes_.subspan(room_ - size, size));
    }
    room_ -= size;
  }

 private:
  MutableBytes bytes_;
  std::size_t room_;
};

constexpr std::uint64_t kLongestString = std::numeric_limits<std::uint32_t>::max();
// A transition byte: how many nodes to advance from the named one, and how many further transitions need no byte.
constexpr std::uint32_t kStrideShift = 2;
constexpr std::uint32_t kRepeatMask = 3;

constexpr std::array<std::byte, kWordBytes> kNoBytes{};

// The reason why the machine stops; null to continue.
using Failure = const char*;

constexpr std::size_t kStepsAtOnce = std::size_t{1} << 18;  // steps between two checks for cancellation
constexpr std::size_t kWorkOfAStep = 4;                     // cost of a step, in decompressed bytes

constexpr Failure kNone = nullptr;
constexpr Failure kInputEnds = "truncated buffer";
constexpr Failure kOutputFull = "the decoded size exceeds the one that the chunk declares";
constexpr Failure kTooManyRecords = "more records than the chunk declares";
constexpr Failure kOpenSubmessage = "a record begins inside a submessage";
constexpr Failure kNoSubmessage = "a submessage begins without an end";
constexpr Failure kTooDeep = "more submessages are open than the chunk can hold";
constexpr Failure kCancelled = "cancelled";  // no damage
constexpr Failure kTooLong = "a length of more than 32 bits";

struct OpenSubmessage {
  std::size_t written = 0;  // output size when its end was found
  std::uint64_t constant = 0;
  std::uint8_t constant_size = 0;
};

// The state of the machine, except for its output, its current node and its transitions, which are local to the loop.
struct State {
  std::vector<Input> inputs;
  std::vector<OpenSubmessage> open;
  std::vector<std::uint64_t> records;
  std::size_t lengths = 0;  // index of the input with the lengths of plain records
  std::uint64_t record_count = 0;
  std::size_t deepest = 0;
};

Failure put_constant(Output& out, std::uint64_t constant, std::size_t size) {
  if (size > out.room()) return kOutputFull;
  out.put_word(constant, size);
  return kNone;
}

Failure put_value(Output& out, Input& input, const Node& node) {
  const std::size_t size = node.value_size;
  if (size > input.left()) return kInputEnds;
  if (size + node.constant_size > out.room()) return kOutputFull;
  out.put_word(input.take_word(size) | node.continuation, size);
  out.put_word(node.constant, node.constant_size);
  return kNone;
}

// Puts a varint of 9 or 10 bytes and sets the continuation bit of all but the last.
Failure put_long_varint(Output& out, Input& input, const Node& node) {
  if (node.value_size > input.left()) return kInputEnds;
  if (std::size_t{node.value_size} + node.constant_size > out.room()) return kOutputFull;
  const std::uint64_t first = input.take_word(kWordBytes) | 0x8080808080808080;
  std::uint64_t rest = input.take_word(node.value_size - kWordBytes);
  if (node.value_size == kWordBytes + 2) rest |= std::uint64_t{0x80} << 48;
  out.put_word(rest, node.value_size - kWordBytes);
  out.put_word(first, kWordBytes);
  out.put_word(node.constant, node.constant_size);
  return kNone;
}

// A length at the input's read position, and its encoded size; nullopt if there is none.
struct Length {
  std::uint32_t value = 0;
  std::size_t own_size = 0;
};

Failure peek_long_length(const Input& input, Length& length) {
  Cursor cursor(input.bytes.subspan(input.at));
  length.value = cursor.varint32();
  length.own_size = cursor.offset();
  return cursor.ok() ? kNone : kInputEnds;
}

Failure peek_length(const Input& input, Length& length) {
  if (input.left() == 0) return kInputEnds;
  const auto byte = std::to_integer<std::uint8_t>(input.bytes[input.at]);
  if (byte >= 0x80) return peek_long_length(input, length);
  length = {byte, 1};
  return kNone;
}

Failure put_string(Output& out, Input& input, const Node& node) {
  Length length;
  if (const Failure failure = peek_length(input, length)) return failure;
  const std::uint64_t size = std::uint64_t{length.value} + length.own_size;
  if (size > input.left()) return kInputEnds;
  if (size > kLongestString) return kTooLong;
  if (size + node.constant_size > out.room()) return kOutputFull;
  out.put_from(input, static_cast<std::size_t>(size));
  out.put_word(node.constant, node.constant_size);
  return kNone;
}

Failure end_submessage(const RequestContext& context, State& state, std::size_t written, const Node& node) {
  if (state.open.size() >= state.deepest) return kTooDeep;
  context.announce_growth(state.open);
  state.open.push_back({written, node.constant, node.constant_size});
  return kNone;
}

Failure begin_submessage(State& state, Output& out) {
  if (state.open.empty()) return kNoSubmessage;
  const OpenSubmessage end = state.open.back();
  state.open.pop_back();
  std::uint64_t length = out.written() - end.written;
  if (length > kLongestString) return kTooLong;
  std::uint64_t word = 0;
  std::size_t size = 0;
  for (; length >= 0x80; length >>= 7, ++size) word = word >> 8 | ((length & 0x7f) | 0x80) << 56;
  word = word >> 8 | length << 56;
  if (const Failure failure = put_constant(out, word, size + 1)) return failure;
  return put_constant(out, end.constant, end.constant_size);
}

Failure begin_record(State& state, std::size_t written) {
  if (!state.open.empty()) return kOpenSubmessage;
  if (state.records.size() >= state.record_count) return kTooManyRecords;
  state.records.push_back(written);
  return kNone;
}

Failure put_plain_record(State& state, Output& out, const Node& node) {
  Length length;
  Input& lengths = state.inputs[state.lengths];
  if (const Failure failure = peek_length(lengths, length)) return failure;
  lengths.take(length.own_size);
  Input& input = state.inputs[node.buffer];
  if (length.value > input.left()) return kInputEnds;
  if (length.value > out.room()) return kOutputFull;
  out.put_from(input, length.value);
  return begin_record(state, out.written());
}

// Runs one node. Values and constants share one path: they are the most frequent, and a branch between them would be
// mispredicted.
Failure act(const RequestContext& context, const Node& node, State& state, Output& out) {
  if (node.action <= Action::kValue) return put_value(out, state.inputs[node.buffer], node);
  switch (node.action) {
    case Action::kNothing:
    case Action::kConstant:
    case Action::kValue: return kNone;
    case Action::kLongVarint: return put_long_varint(out, state.inputs[node.buffer], node);
    case Action::kString: return put_string(out, state.inputs[node.buffer], node);
    case Action::kSubmessageEnd: return end_submessage(context, state, out.written(), node);
    case Action::kSubmessageStart: return begin_submessage(state, out);
    case Action::kRecordStart: return begin_record(state, out.written());
    case Action::kPlainRecord: return put_plain_record(state, out, node);
  }
  return kNone;
}

Failure step_through(const RequestContext& context, const Program& program, Bytes transitions, State& state,
                     Output& out) {
  std::uint32_t at = program.first;
  std::int32_t repeats = 0;
  std::size_t read = 0;
  std::size_t steps = 0;
  for (;; ++steps) {
    const Node& node = program.nodes[at];
    if (const Failure failure = act(context, node, state, out)) return failure;
    at = node.next;
    if (!node.implicit) --repeats;
    if (repeats >= 0) continue;
    if (read == transitions.size()) return kNone;
    if (steps >= kStepsAtOnce) {
      if (!context.spend(kWorkOfAStep * std::exchange(steps, 0))) return kCancelled;
    }
    const auto transition = std::to_integer<std::uint32_t>(transitions[read++]);
    repeats = static_cast<std::int32_t>(transition & kRepeatMask);
    const std::uint64_t target = std::uint64_t{at} + (transition >> kStrideShift);
    if (target >= program.nodes.size()) return "a transition leads past the last node";
    at = static_cast<std::uint32_t>(target);
  }
}

Failure check_end(const State& state, const Output& out) {
  if (!state.open.empty()) return "a submessage ends without a beginning";
  if (state.records.size() < state.record_count) return "fewer records than the chunk declares";
  if (out.room() > 0) return "the decoded size is below the one that the chunk declares";
  const std::uint64_t begun = state.records.empty() ? 0 : state.records.back();
  if (begun != out.written()) return "fields that belong to no record";
  return kNone;
}

// Fills all of `out` with the records, starting with the last one. Returns `record_count` numbers, for the records from
// last to first. Each is the size of that record and all records after it, so the last number is out.size(). Fails with
// kDamage if the program produces anything else.
//
// The time is proportional to the output, the records and the transitions. Each step produces output, begins a record,
// opens a submessage (which will produce two bytes) or follows a transition. The only exception is an idle node that
// needs no transition, and a valid program never runs two of them in a row.
Result<std::vector<std::uint64_t>> run(const RequestContext& context, const Program& program,
                                       const std::vector<Bytes>& buffers, Bytes transitions, std::uint64_t record_count,
                                       MutableBytes out) {
  State state;
  context.announce((buffers.size() + 1) * sizeof(Input));
  state.inputs.reserve(buffers.size() + 1);
  for (const Bytes buffer : buffers) state.inputs.push_back({buffer, 0});
  state.lengths = buffers.empty() ? 0 : buffers.size() - 1;
  // A dummy input for nodes without a buffer.
  state.inputs.push_back({kNoBytes, kWordBytes});
  context.announce(record_count * sizeof(state.records[0]));
  state.records.reserve(static_cast<std::size_t>(record_count));
  state.record_count = record_count;
  // Each open submessage will put at least its length and its tag.
  state.deepest = out.size() / 2;
  Output output(out);
  Failure failure = step_through(context, program, transitions, state, output);
  if (failure == kCancelled) return context.spend(0).error();
  if (!failure) failure = check_end(state, output);
  if (failure) return Error{.code = Code::kDamage, .detail = failure};
  return std::move(state.records);
}

// Each part may have this much regardless of the declared sizes: for padding, idle nodes and unused bytes.
constexpr std::uint64_t kLeastLimit = 1 << 20;
constexpr std::uint64_t kLeastCountLimit = 16 << 10;
constexpr std::uint64_t kHeaderBytesPerOutput = 8;
constexpr std::uint64_t kHeaderShareOfLimit = 32;
constexpr std::uint64_t kLeastTransitionLimit = 64 << 10;
constexpr std::uint64_t kTransitionBytesPerOutput = 8;
// The length of a plain record is in a separate buffer.
constexpr std::uint64_t kLongestLength = 5;
// A field that reads a buffer also puts its tag.
constexpr std::uint64_t kLeastOutputPerBuffer = 2;
// The divisor from the decoded-size limit to the limit of nodes and buffers, because each uses much more memory than
// its output.
constexpr std::uint64_t kCountShareOfLimit = 256;

struct Bounds {
  std::uint64_t header, nodes, transitions;
  BufferLimits buffers;
};

// Returns the maximum size and number of each part: no more than the output can use. Nearly every reachable node puts
// at least a byte, and bytes taken from buffers are put. REQUIRES: both numbers are within the limits.
Bounds bounds_of(std::uint64_t record_count, std::uint64_t decoded_size, const Limits& limits) {
  const std::uint64_t output = record_count + decoded_size;
  const std::uint64_t most = std::max(kLeastCountLimit, limits.decoded_chunk / kCountShareOfLimit);
  Bounds bounds{};
  bounds.header = std::min(std::max(kLeastLimit, limits.decoded_chunk / kHeaderShareOfLimit),
                           kLeastLimit + kHeaderBytesPerOutput * output);
  bounds.nodes = std::min(most, kLeastCountLimit + decoded_size);
  bounds.transitions = kLeastTransitionLimit + kTransitionBytesPerOutput * output;
  bounds.buffers.count = std::min(most, kLeastCountLimit + decoded_size / kLeastOutputPerBuffer);
  bounds.buffers.bytes = std::min(limits.decoded_chunk, kLeastLimit + decoded_size) + kLongestLength * record_count;
  return bounds;
}

Error in_part(Error error, std::string_view part) {
  error.detail = fmt::format("{}: {}", part, error.detail);
  return error;
}

Layout to_layout(const RequestContext& context, const std::vector<std::uint64_t>& ends_from_the_back) {
  Layout layout;
  layout.reserve(context, ends_from_the_back.size());
  for (std::size_t i = ends_from_the_back.size(); i > 0; --i) {
    layout.add(context, ends_from_the_back[i - 1] - (i > 1 ? ends_from_the_back[i - 2] : 0));
  }
  return layout;
}

}  // namespace

Result<Decoded> decode(const RequestContext& context, Bytes data, std::uint64_t record_count,
                       std::uint64_t decoded_size, const Limits& limits) {
  const Bounds bounds = bounds_of(record_count, decoded_size, limits);
  Cursor cursor(data);
  const std::uint8_t compression_type = cursor.u8();
  const Bytes stored_header = cursor.take(cursor.varint64());
  if (!cursor.ok()) return Error{.code = Code::kDamage, .detail = "the header is longer than the chunk"};
  ASSIGN_OR_RETURN(const auto codec, require_codec(compression_type));
  auto header = open_unit(context, codec, stored_header, bounds.header);
  if (!header) return in_part(std::move(header).error(), "header");
  Cursor fields(header->bytes());
  auto buffers = open_buffers(context, fields, cursor, codec, bounds.buffers);
  if (!buffers) return in_part(std::move(buffers).error(), "buckets");
  auto program = parse_program(context, fields, buffers->buffers.size(), bounds.nodes);
  if (!program) return in_part(std::move(program).error(), "header");
  auto transitions = open_unit(context, codec, cursor.rest(), bounds.transitions);
  if (!transitions) return in_part(std::move(transitions).error(), "transitions");
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(decoded_size)));
  ASSIGN_OR_RETURN(const auto ends,
                   run(context, *program, buffers->buffers, transitions->bytes(), record_count, payload.span()));
  return Decoded{std::move(payload), to_layout(context, ends)};
}

}  // namespace recordfs::riegeli::transposed
