#include "tests/toy/toy_chunk.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/chunk.h"
#include "tests/toy/toy_wire.h"

namespace recordfs::toy {
namespace {

std::uint32_t records_of(const ChunkInfo& chunk) { return static_cast<std::uint32_t>(chunk.detail[0] >> 32); }
bool is_unsupported(const ChunkInfo& chunk) { return (chunk.detail[0] & kUnsupportedCodec) != 0; }

Error damage(const ChunkInfo& chunk, std::string_view why) {
  return {.code = Code::kDamage, .position = chunk.begin, .detail = std::string(why)};
}

Result<Layout> parse_layout(const RequestContext& context, const ChunkInfo& chunk, Bytes payload) {
  const std::uint64_t table = std::uint64_t{4} * records_of(chunk);
  Layout layout(table);
  Cursor sizes(payload);
  for (std::uint32_t i = 0; i < records_of(chunk); ++i) {
    const std::uint32_t word = sizes.u32_le();
    const std::uint32_t size = word & ~kUnreadable;
    if (word & kUnreadable) {
      layout.add_failed(context, size, damage(chunk, fmt::format("record {} is marked as unreadable", i)));
    } else {
      layout.add(context, size);
    }
  }
  if (!sizes.ok() || layout.end() != payload.size()) return damage(chunk, "sizes do not add up");
  return layout;
}

}  // namespace

Result<Buffer> read_payload(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                            const Limits& limits) {
  if (chunk.stored_size > limits.stored_chunk || chunk.stored_size > limits.decoded_chunk) {
    return Error{Code::kLimit, chunk.begin, fmt::format("{} bytes of payload", chunk.stored_size)};
  }
  ASSIGN_OR_RETURN(auto payload, read_exactly(context, source, chunk.begin + kChunkHeaderSize, chunk.stored_size));
  if (payload.size() != chunk.stored_size || check_of(payload.view()) != chunk.detail[1]) {
    return damage(chunk, "payload check mismatch");
  }
  if (is_unsupported(chunk)) return Error{Code::kUnsupported, chunk.begin, "a codec of the future"};
  return payload;
}

Result<Layout> read_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           const Limits& limits) {
  ASSIGN_OR_RETURN(const auto payload, read_payload(context, source, chunk, limits));
  return parse_layout(context, chunk, payload.view());
}

Result<std::shared_ptr<const Chunk>> read_chunk(const RequestContext& context, const Source& source,
                                                const ChunkInfo& chunk, const Limits& limits) {
  ASSIGN_OR_RETURN(auto payload, read_payload(context, source, chunk, limits));
  ASSIGN_OR_RETURN(auto layout, parse_layout(context, chunk, payload.view()));
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, std::shared_ptr<const Source> source,
                                                   const ChunkInfo& chunk, const Limits& limits) {
  ASSIGN_OR_RETURN(auto layout, read_layout(context, *source, chunk, limits));
  const auto read = [chunk, limits](const RequestContext& request, const Source& from, const Layout&,
                                    std::uint64_t offset, std::uint64_t length) -> Result<Buffer> {
    ASSIGN_OR_RETURN(const auto payload, read_payload(request, from, chunk, limits));
    return Buffer::copy_of(request,
                           payload.view().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
  };
  return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(std::move(source), std::move(layout), read));
}

}  // namespace recordfs::toy
