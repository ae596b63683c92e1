#include "core/formats/riegeli/transposed/decode.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/riegeli/transposed/buffers.h"
#include "core/formats/riegeli/transposed/machine.h"
#include "core/formats/riegeli/transposed/program.h"
#include "core/formats/riegeli/transposed/projection.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {
namespace {

constexpr Failure kNone = nullptr;

// Runs the whole program.
class Machine {
 public:
  // `deepest`: how many submessages may be open.
  Machine(const RequestContext& context, const Program& program, State& state, Output& out, std::size_t deepest)
      : context_(context), program_(program), state_(state), out_(out), deepest_(deepest) {}

  // Runs one node. Values and constants share one path: they are the most frequent, and a branch between them would be
  // mispredicted.
  Failure act(std::uint32_t at) {
    const Node& node = program_.nodes[at];
    if (node.action <= Action::kValue) return put_value(out_, state_.inputs[node.buffer], node);
    switch (node.action) {
      case Action::kNothing:
      case Action::kConstant:
      case Action::kValue: return kNone;
      case Action::kLongVarint: return put_long_varint(out_, state_.inputs[node.buffer], node);
      case Action::kString: return put_string(out_, state_.inputs[node.buffer], node);
      case Action::kSubmessageEnd: return end_submessage(node);
      case Action::kSubmessageStart: return begin_submessage();
      case Action::kRecordStart: return open_.empty() ? begin_record(state_, out_.written()) : kOpenSubmessage;
      case Action::kPlainRecord: return open_.empty() ? put_plain_record(state_, out_, node) : kOpenSubmessage;
    }
    return kNone;
  }

  Failure check_end() const {
    if (!open_.empty()) return "a submessage ends without a beginning";
    if (const Failure failure = state_.check_end(out_)) return failure;
    return out_.room() > 0 ? "the decoded size is below the one that the chunk declares" : kNone;
  }

 private:
  static constexpr Failure kOpenSubmessage = "a record begins inside a submessage";

  Failure end_submessage(const Node& node) {
    if (open_.size() >= deepest_) return "more submessages are open than the chunk can hold";
    context_.announce_growth(open_);
    open_.push_back({out_.written(), node.constant, node.constant_size});
    return kNone;
  }

  Failure begin_submessage() {
    if (open_.empty()) return "a submessage begins without an end";
    const OpenSubmessage begun = open_.back();
    open_.pop_back();
    return put_begin(out_, begun);
  }

  const RequestContext& context_;
  const Program& program_;
  State& state_;
  Output& out_;
  const std::size_t deepest_;
  std::vector<OpenSubmessage> open_;
};

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
  State state(context, buffers.size(), record_count);
  for (const Bytes buffer : buffers) state.inputs.push_back({buffer, 0});
  // A dummy input for nodes without a buffer.
  state.inputs.push_back({kNoBytes, kWordBytes});
  Output output(out);
  // Each open submessage will put at least its length and its tag.
  Machine machine(context, program, state, output, out.size() / 2);
  Failure failure =
      step_through(context, program, transitions, [&machine](std::uint32_t at) { return machine.act(at); });
  if (failure == kCancelled) return context.spend(0).error();
  if (!failure) failure = machine.check_end();
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

// The beginning of a chunk.
struct Head {
  CodecId codec = CodecId::kNone;
  UnitContent header;
};

Result<Head> open_head(const RequestContext& context, Cursor& data, const Bounds& bounds) {
  const std::uint8_t compression_type = data.u8();
  const Bytes stored_header = data.take(data.varint64());
  if (!data.ok()) return Error{.code = Code::kDamage, .detail = "the header is longer than the chunk"};
  ASSIGN_OR_RETURN(const auto codec, require_codec(compression_type));
  auto header = open_unit(context, codec, stored_header, bounds.header);
  if (!header) return in_part(std::move(header).error(), "header");
  return Head{codec, std::move(*header)};
}

// The parts of a chunk after its buckets.
struct Steps {
  Program program;
  UnitContent transitions;
};

Result<Steps> open_steps(const RequestContext& context, const Head& head, Cursor& header, Cursor& data,
                         std::size_t buffer_count, const Bounds& bounds) {
  auto program = parse_program(context, header, buffer_count, bounds.nodes);
  if (!program) return in_part(std::move(program).error(), "header");
  auto transitions = open_unit(context, head.codec, data.rest(), bounds.transitions);
  if (!transitions) return in_part(std::move(transitions).error(), "transitions");
  return Steps{std::move(*program), std::move(*transitions)};
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
  ASSIGN_OR_RETURN(const auto head, open_head(context, cursor, bounds));
  Cursor fields(head.header.bytes());
  auto buffers = open_buffers(context, fields, cursor, head.codec, bounds.buffers);
  if (!buffers) return in_part(std::move(buffers).error(), "buckets");
  ASSIGN_OR_RETURN(const auto steps, open_steps(context, head, fields, cursor, buffers->buffers.size(), bounds));
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(decoded_size)));
  ASSIGN_OR_RETURN(const auto ends, run(context, steps.program, buffers->buffers, steps.transitions.bytes(),
                                        record_count, payload.span()));
  return Decoded{std::move(payload), to_layout(context, ends)};
}

Result<Decoded> decode_fields(const RequestContext& context, Bytes data, std::uint64_t record_count,
                              std::uint64_t decoded_size, const Limits& limits, const FieldProjection& wanted) {
  const auto project = [&]() -> Result<Decoded> {
    const Bounds bounds = bounds_of(record_count, decoded_size, limits);
    Cursor cursor(data);
    ASSIGN_OR_RETURN(const auto head, open_head(context, cursor, bounds));
    Cursor fields(head.header.bytes());
    ASSIGN_OR_RETURN(auto buffers, LazyBuffers::parse(context, fields, cursor, head.codec, bounds.buffers));
    ASSIGN_OR_RETURN(auto steps, open_steps(context, head, fields, cursor, buffers.size(), bounds));
    ASSIGN_OR_RETURN(auto projected, run_projected(context, steps.program, buffers, steps.transitions.bytes(),
                                                   {record_count, decoded_size}, wanted));
    return Decoded{std::move(projected.payload), to_layout(context, projected.ends)};
  };
  if (!wanted.includes_all()) {
    auto projected = project();
    if (projected || !is_permanent(projected.error().code)) return projected;
  }
  return decode(context, data, record_count, decoded_size, limits);
}

}  // namespace recordfs::riegeli::transposed
