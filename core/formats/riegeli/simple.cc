#include "core/formats/riegeli/simple.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/chunk.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/streamed_chunk.h"

namespace recordfs::riegeli {
namespace {

// The compression type and the size of the sizes.
constexpr std::uint64_t kLongestPreamble = 1 + kLongestVarint;
constexpr std::string_view kValues = "record values";
constexpr std::uint64_t kReadWhole = 64u << 10;  // stored bytes: smaller chunks cost less than several reads

// The position of the sizes in the data of a chunk; the values follow them.
struct Head {
  CodecId codec = CodecId::kNone;
  std::uint64_t sizes_begin = 0;
  std::uint64_t sizes_size = 0;
  std::uint64_t values_begin() const { return sizes_begin + sizes_size; }
};

Error in_chunk(Error error, const ChunkInfo& chunk, std::string_view part) {
  return chunk_error(error.code, chunk, fmt::format("{}: {}", part, error.detail));
}

// `front` is the chunk's data, or its first kLongestPreamble bytes.
Result<Head> parse_head(const ChunkInfo& chunk, Bytes front) {
  Cursor cursor(front);
  const std::uint8_t compression_type = cursor.u8();
  if (!cursor.ok()) return chunk_error(Code::kDamage, chunk, "the chunk has no compression type");
  auto codec = require_codec(compression_type);
  if (!codec) return in_chunk(std::move(codec).error(), chunk, "simple chunk");
  Head head{.codec = *codec};
  head.sizes_size = cursor.varint64();
  head.sizes_begin = cursor.offset();
  if (!cursor.ok() || head.sizes_size > chunk.stored_size - head.sizes_begin) {
    return chunk_error(Code::kDamage, chunk, "the record sizes are longer than the chunk");
  }
  return head;
}

// `sizes` are decompressed.
Result<Layout> parse_sizes(const RequestContext& context, const ChunkInfo& chunk, Bytes sizes) {
  if (sizes.size() < *chunk.records) return chunk_error(Code::kDamage, chunk, "fewer record sizes than records");
  Layout layout;
  layout.reserve(context, *chunk.records);
  Cursor cursor(sizes);
  std::uint64_t left = *chunk.decoded_size;
  for (std::uint64_t i = 0; i < *chunk.records; ++i) {
    const std::uint64_t size = cursor.varint64();
    if (size > left) return chunk_error(Code::kDamage, chunk, "the record sizes add up to more than the chunk holds");
    left -= size;
    layout.add(context, size);
  }
  if (!cursor.ok()) return chunk_error(Code::kDamage, chunk, "fewer record sizes than records");
  if (!cursor.at_end()) return chunk_error(Code::kDamage, chunk, "more record sizes than records");
  if (left > 0) return chunk_error(Code::kDamage, chunk, "the record sizes add up to less than the chunk holds");
  return layout;
}

// Checks the length of the values of an uncompressed chunk.
Result<void> check_plain_values(const ChunkInfo& chunk, const Head& head) {
  if (chunk.stored_size - head.values_begin() == *chunk.decoded_size) return {};
  return chunk_error(Code::kDamage, chunk, "the record values are not as long as declared");
}

std::uint64_t longest_sizes(const ChunkInfo& chunk) { return *chunk.records * kLongestVarint; }

// `stored` are the sizes as stored in the chunk.
Result<Layout> layout_of(const RequestContext& context, const ChunkInfo& chunk, CodecId codec, Bytes stored) {
  auto sizes = open_unit(context, codec, stored, longest_sizes(chunk));
  if (!sizes && sizes.error().code == Code::kLimit) {
    return chunk_error(Code::kDamage, chunk, "more record sizes than records");
  }
  if (!sizes) return in_chunk(std::move(sizes).error(), chunk, "record sizes");
  return parse_sizes(context, chunk, sizes->bytes());
}

// Returns a chunk that reads the data from byte `first` on. The hash was verified after the source had `generation`.
std::shared_ptr<const Chunk> in_place(std::shared_ptr<const Source> source, const ChunkInfo& chunk, std::uint64_t first,
                                      Layout layout, std::uint64_t generation) {
  const auto read = [chunk, first](const RequestContext& context, const Source& from, const Layout&,
                                   std::uint64_t offset, std::uint64_t length) -> Result<Buffer> {
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(length)));
    TRY(read_data(context, from, chunk, first + offset, bytes.span()));
    return bytes;
  };
  const auto verify = [chunk](const RequestContext& context, const Source& from) {
    return verify_data(context, from, chunk);
  };
  return std::make_shared<FileChunk>(std::move(source), std::move(layout), read,
                                     FileChunk::Verified{generation, chunk.begin, verify});
}

struct Verified {
  Head head;
  Layout layout;
  std::uint64_t generation = 0;  // of the source, when the hash was checked
};

// Verifies the hash of a chunk and returns its head and record sizes. The values are only hashed, in pieces.
Result<Verified> verified_layout(const RequestContext& context, std::shared_ptr<const Source> source,
                                 const ChunkInfo& chunk, const Limits& limits) {
  const std::uint64_t generation = source->generation();
  TRY(verify_data(context, *source, chunk));
  Layout whole;
  whole.add(context, chunk.stored_size);
  const auto data = in_place(std::move(source), chunk, 0, std::move(whole), generation);
  ASSIGN_OR_RETURN(const auto front, data->read(context, 0, std::min(chunk.stored_size, kLongestPreamble)));
  ASSIGN_OR_RETURN(const auto head, parse_head(chunk, front.bytes));
  if (head.sizes_size > limits.stored_chunk) {
    return chunk_error(
        Code::kLimit, chunk,
        fmt::format("{} bytes of record sizes, more than the limit of {}", head.sizes_size, limits.stored_chunk));
  }
  ASSIGN_OR_RETURN(const auto sizes, data->read(context, head.sizes_begin, head.sizes_size));
  ASSIGN_OR_RETURN(auto layout, layout_of(context, chunk, head.codec, sizes.bytes));
  return Verified{head, std::move(layout), generation};
}

// `values` are the stored values at the end of `data`.
Result<std::shared_ptr<const Chunk>> streamed(const ChunkInfo& chunk, CodecId codec, Bytes values, Buffer data,
                                              Layout layout) {
  auto stream = unit_stream(codec, values);
  if (!stream) return in_chunk(std::move(stream).error(), chunk, kValues);
  const std::size_t begin = data.size() - stream->size();
  const auto payload = static_cast<std::size_t>(*chunk.decoded_size);
  StreamedChunk::Compressed compressed{.stored = std::move(data),
                                       .begin = begin,
                                       .codec = codec,
                                       .payload = payload,
                                       .memory = std::max<std::uint64_t>(payload, kStreamMemory)};
  const auto explain = [chunk](Error error) { return in_chunk(std::move(error), chunk, kValues); };
  return std::shared_ptr<const Chunk>(
      std::make_shared<StreamedChunk>(std::move(compressed), std::move(layout), explain));
}

}  // namespace

Result<Layout> simple_layout(const RequestContext& context, std::shared_ptr<const Source> source,
                             const ChunkInfo& chunk, const Limits& limits) {
  if (chunk.stored_size <= std::min(kReadWhole, limits.stored_chunk)) {
    ASSIGN_OR_RETURN(const auto data, read_verified(context, *source, chunk));
    ASSIGN_OR_RETURN(const auto head, parse_head(chunk, data.view()));
    const Bytes sizes = data.view().subspan(static_cast<std::size_t>(head.sizes_begin));
    return layout_of(context, chunk, head.codec, sizes.first(static_cast<std::size_t>(head.sizes_size)));
  }
  ASSIGN_OR_RETURN(auto verified, verified_layout(context, std::move(source), chunk, limits));
  return std::move(verified.layout);
}

Result<std::shared_ptr<const Chunk>> decode_simple(const RequestContext& context, const ChunkInfo& chunk, Buffer data) {
  ASSIGN_OR_RETURN(const auto head, parse_head(chunk, data.view()));
  const auto values_begin = static_cast<std::size_t>(head.values_begin());
  const Bytes sizes = data.view().first(values_begin).subspan(static_cast<std::size_t>(head.sizes_begin));
  ASSIGN_OR_RETURN(auto layout, layout_of(context, chunk, head.codec, sizes));
  const auto decoded_size = static_cast<std::size_t>(*chunk.decoded_size);
  const Bytes values = data.view().subspan(values_begin);
  if (StreamedChunk::is_worth(head.codec, decoded_size))
    return streamed(chunk, head.codec, values, std::move(data), std::move(layout));
  if (head.codec == CodecId::kNone) {
    TRY(check_plain_values(chunk, head));
    return std::shared_ptr<const Chunk>(
        std::make_shared<BufferChunk>(std::move(data), std::move(layout), values_begin));
  }
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, decoded_size));
  if (auto opened = open_unit_into(context, head.codec, values, payload.span()); !opened) {
    return in_chunk(std::move(opened).error(), chunk, kValues);
  }
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

Result<std::shared_ptr<const Chunk>> open_simple_in_place(const RequestContext& context,
                                                          std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                          const Limits& limits) {
  if (chunk.codec != to_string(CodecId::kNone)) return std::shared_ptr<const Chunk>{};
  ASSIGN_OR_RETURN(auto verified, verified_layout(context, source, chunk, limits));
  TRY(check_plain_values(chunk, verified.head));
  return in_place(std::move(source), chunk, verified.head.values_begin(), std::move(verified.layout),
                  verified.generation);
}

}  // namespace recordfs::riegeli
