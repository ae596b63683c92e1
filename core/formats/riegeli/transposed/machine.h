// The machine that runs the program of a transposed chunk: what it reads, what it writes, and its steps. FORMAT.md,
// "Transposed chunks", explains it. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/formats/riegeli/transposed/program.h"

namespace recordfs::riegeli::transposed {

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

inline constexpr std::uint64_t kLongestString = std::numeric_limits<std::uint32_t>::max();

inline constexpr std::array<std::byte, kWordBytes> kNoBytes{};

// The reason why the machine stops; null to continue.
using Failure = const char*;

inline constexpr char kCancelled[] = "cancelled";  // no damage

// A submessage whose end was found, but not its beginning yet.
struct OpenSubmessage {
  std::size_t written = 0;  // output size at its end
  std::uint64_t constant = 0;
  std::uint8_t constant_size = 0;
};

// What the machine reads, and the records that it found.
struct State {
  // REQUIRES: the caller has checked the number of records against Limits.
  State(const RequestContext& context, std::size_t buffers, std::uint64_t records_declared)
      : lengths(buffers == 0 ? 0 : buffers - 1), record_count(records_declared) {
    context.announce((buffers + 1) * sizeof(Input));
    inputs.reserve(buffers + 1);
    context.announce(record_count * sizeof(records[0]));
    records.reserve(static_cast<std::size_t>(record_count));
  }

  // Returns what is wrong with the records at the end of the transitions.
  Failure check_end(const Output& out) const {
    if (records.size() < record_count) return "fewer records than the chunk declares";
    const std::uint64_t begun = records.empty() ? 0 : records.back();
    return begun == out.written() ? nullptr : "fields that belong to no record";
  }

  std::vector<Input> inputs;  // the buffers, and an empty one for nodes that read none
  std::size_t lengths;        // index of the input with the lengths of plain records
  std::uint64_t record_count;
  std::vector<std::uint64_t> records;  // sizes of the output at their beginnings
};

inline constexpr char kInputEnds[] = "truncated buffer";
inline constexpr char kOutputFull[] = "the decoded size exceeds the one that the chunk declares";
inline constexpr char kTooLong[] = "a length of more than 32 bits";

inline Failure put_constant(Output& out, std::uint64_t constant, std::size_t size) {
  if (size > out.room()) return kOutputFull;
  out.put_word(constant, size);
  return nullptr;
}

inline Failure put_value(Output& out, Input& input, const Node& node) {
  const std::size_t size = node.value_size;
  if (size > input.left()) return kInputEnds;
  if (size + node.constant_size > out.room()) return kOutputFull;
  out.put_word(input.take_word(size) | node.continuation, size);
  out.put_word(node.constant, node.constant_size);
  return nullptr;
}

// Puts a varint of 9 or 10 bytes and sets the continuation bit of all but the last.
inline Failure put_long_varint(Output& out, Input& input, const Node& node) {
  if (node.value_size > input.left()) return kInputEnds;
  if (std::size_t{node.value_size} + node.constant_size > out.room()) return kOutputFull;
  const std::uint64_t first = input.take_word(kWordBytes) | 0x8080808080808080;
  std::uint64_t rest = input.take_word(node.value_size - kWordBytes);
  if (node.value_size == kWordBytes + 2) rest |= std::uint64_t{0x80} << 48;
  out.put_word(rest, node.value_size - kWordBytes);
  out.put_word(first, kWordBytes);
  out.put_word(node.constant, node.constant_size);
  return nullptr;
}

// A length at the input's read position, and its encoded size; nullopt if there is none.
struct Length {
  std::uint32_t value = 0;
  std::size_t own_size = 0;
};

inline Failure peek_long_length(const Input& input, Length& length) {
  Cursor cursor(input.bytes.subspan(input.at));
  length.value = cursor.varint32();
  length.own_size = cursor.offset();
  return cursor.ok() ? nullptr : kInputEnds;
}

inline Failure peek_length(const Input& input, Length& length) {
  if (input.left() == 0) return kInputEnds;
  const auto byte = std::to_integer<std::uint8_t>(input.bytes[input.at]);
  if (byte >= 0x80) return peek_long_length(input, length);
  length = {byte, 1};
  return nullptr;
}

inline Failure put_string(Output& out, Input& input, const Node& node) {
  Length length;
  if (const Failure failure = peek_length(input, length)) return failure;
  const std::uint64_t size = std::uint64_t{length.value} + length.own_size;
  if (size > input.left()) return kInputEnds;
  if (size > kLongestString) return kTooLong;
  if (size + node.constant_size > out.room()) return kOutputFull;
  out.put_from(input, static_cast<std::size_t>(size));
  out.put_word(node.constant, node.constant_size);
  return nullptr;
}

// Puts the length and the tag of a submessage at its beginning.
inline Failure put_begin(Output& out, const OpenSubmessage& open) {
  std::uint64_t length = out.written() - open.written;
  if (length > kLongestString) return kTooLong;
  std::uint64_t word = 0;
  std::size_t size = 0;
  for (; length >= 0x80; length >>= 7, ++size) word = word >> 8 | ((length & 0x7f) | 0x80) << 56;
  word = word >> 8 | length << 56;
  if (const Failure failure = put_constant(out, word, size + 1)) return failure;
  return put_constant(out, open.constant, open.constant_size);
}

// REQUIRES: no submessage is open.
inline Failure begin_record(State& state, std::size_t written) {
  if (state.records.size() >= state.record_count) return "more records than the chunk declares";
  state.records.push_back(written);
  return nullptr;
}

// REQUIRES: no submessage is open.
inline Failure put_plain_record(State& state, Output& out, const Node& node) {
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

// Follows the transitions from node to node. `act` runs the node with an index, and may shorten ways through the
// program. Returns why it failed, or kCancelled.
template <class Act>
Failure step_through(const RequestContext& context, const Program& program, Bytes transitions, const Act& act) {
  // A transition byte: how many nodes to advance from the named one, and how many further transitions need no byte.
  constexpr std::uint32_t kStrideShift = 2;
  constexpr std::uint32_t kRepeatMask = 3;
  constexpr std::size_t kStepsAtOnce = std::size_t{1} << 18;  // steps between two checks for cancellation
  constexpr std::size_t kWorkOfAStep = 4;                     // cost of a step, in decompressed bytes
  std::uint32_t at = program.first;
  std::int32_t repeats = 0;
  std::size_t read = 0;
  std::size_t steps = 0;
  for (;; ++steps) {
    if (const Failure failure = act(at)) return failure;
    const Node& node = program.nodes[at];
    at = node.next;
    if (!node.implicit) --repeats;
    if (repeats >= 0) continue;
    if (read == transitions.size()) return nullptr;
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

}  // namespace recordfs::riegeli::transposed
