#include "core/formats/riegeli/transposed/decode.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/riegeli/transposed/buffers.h"
#include "core/formats/riegeli/transposed/machine.h"
#include "core/formats/riegeli/transposed/program.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {
namespace {

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
