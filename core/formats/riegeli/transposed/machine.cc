#include "core/formats/riegeli/transposed/machine.h"

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/formats/riegeli/transposed/tape.h"

namespace recordfs::riegeli::transposed {
namespace {

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

}  // namespace

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

}  // namespace recordfs::riegeli::transposed
