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

// A header gets this much whatever the chunk holds, and so many bytes for each byte and record that it declares.
constexpr std::uint64_t kLeastHeaderLimit = 1 << 20;
constexpr std::uint64_t kHeaderBytesPerOutput = 32;
constexpr std::uint64_t kHeaderShareOfLimit = 32;
constexpr std::uint64_t kLeastTransitionLimit = 64 << 10;
constexpr std::uint64_t kTransitionBytesPerOutput = 8;
// A plain record has its length in a buffer of its own.
constexpr std::uint64_t kLongestLength = 5;

struct Bounds {
  std::uint64_t header, buffers, transitions;
};

// What each part may decompress to. REQUIRES: both numbers keep the limits.
Bounds bounds_of(std::uint64_t record_count, std::uint64_t decoded_size, const Limits& limits) {
  const std::uint64_t output = record_count + decoded_size;
  Bounds bounds{};
  bounds.header = std::min(std::max(kLeastHeaderLimit, limits.decoded_chunk / kHeaderShareOfLimit),
                           kLeastHeaderLimit + kHeaderBytesPerOutput * output);
  bounds.buffers = limits.decoded_chunk + kLongestLength * record_count;
  bounds.transitions = kLeastTransitionLimit + kTransitionBytesPerOutput * output;
  return bounds;
}

Error in_part(Error error, std::string_view part) {
  error.detail = fmt::format("{}: {}", part, error.detail);
  return error;
}

Layout to_layout(const std::vector<std::uint64_t>& ends_from_the_back) {
  Layout layout;
  layout.reserve(ends_from_the_back.size());
  for (std::size_t i = ends_from_the_back.size(); i > 0; --i) {
    layout.add(ends_from_the_back[i - 1] - (i > 1 ? ends_from_the_back[i - 2] : 0));
  }
  return layout;
}

}  // namespace

Result<Decoded> decode(Bytes data, std::uint64_t record_count, std::uint64_t decoded_size, const Limits& limits) {
  const Bounds bounds = bounds_of(record_count, decoded_size, limits);
  Cursor cursor(data);
  const std::uint8_t compression_type = cursor.u8();
  const Bytes stored_header = cursor.take(cursor.varint64());
  if (!cursor.ok()) return Error{.code = Code::kDamage, .detail = "the header is longer than the chunk"};
  auto codec = require_codec(compression_type);
  if (!codec) return std::move(codec).error();
  auto header = open_unit(*codec, stored_header, bounds.header);
  if (!header) return in_part(std::move(header).error(), "header");
  Cursor fields(header->bytes());
  auto buffers = open_buffers(fields, cursor, *codec, bounds.buffers);
  if (!buffers) return in_part(std::move(buffers).error(), "buckets");
  auto program = parse_program(fields, buffers->buffers.size());
  if (!program) return in_part(std::move(program).error(), "header");
  auto transitions = open_unit(*codec, cursor.rest(), bounds.transitions);
  if (!transitions) return in_part(std::move(transitions).error(), "transitions");
  auto payload = Buffer::allocate(static_cast<std::size_t>(decoded_size));
  if (!payload) return std::move(payload).error();
  auto ends = run(*program, buffers->buffers, transitions->bytes(), record_count, payload->span());
  if (!ends) return std::move(ends).error();
  return Decoded{std::move(*payload), to_layout(*ends)};
}

}  // namespace recordfs::riegeli::transposed
