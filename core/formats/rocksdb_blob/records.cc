#include "core/formats/rocksdb_blob/records.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/formats/leveldb_table/entries.h"

namespace recordfs::rocksdb_blob {
namespace {

using leveldb_table::record_front;
using leveldb_table::record_size;

Error at(Position position, Error error) {
  error.position = position;
  return error;
}

// The sizes of a record in the file and as shown.
struct Outline {
  std::uint64_t stored = 0;
  std::uint64_t shown = 0;
};

// A record as shown: what precedes the value, and the value.
struct Content {
  std::string front;
  Bytes value;
  Buffer buffer{};  // holds the value if it was compressed
};

// Returns the outlines of records in memory.
Result<std::vector<Outline>> outlines_of(const RequestContext& context, const Wire& wire, Bytes stored,
                                         Position begin) {
  std::vector<Outline> outlines;
  for (std::size_t done = 0; done < stored.size();) {
    const Bytes rest = stored.subspan(done);
    const auto header = parse_record_header(rest);
    if (!header || !header->fits(rest.size())) return framed::not_as_found(begin + done);
    const Bytes record = rest.first(static_cast<std::size_t>(header->size()));
    const Bytes value = record.last(static_cast<std::size_t>(header->value_size));
    context.announce_growth(outlines);
    outlines.push_back({header->size(), wire.shown_size(*header, value.first(std::min(value.size(), kMostSizeBytes)))});
    done += record.size();
  }
  return outlines;
}

Result<Content> content_of(const RequestContext& context, const Wire& wire, Bytes stored, const Outline& outline,
                           const Limits& limits) {
  ASSIGN_OR_RETURN(const auto record, check_record(stored));
  if (!wire.compression) return Error{.detail = "the file's header is damaged, which states the compression"};
  Content content{.front = {}, .value = record.value};
  if (!wire.are_stored()) {
    ASSIGN_OR_RETURN(content.buffer, decompress_value(context, *wire.compression, record.value, limits.decoded_chunk));
    content.value = content.buffer.view();
  }
  content.front = record_front(record.key, content.value.size());
  if (content.front.size() + content.value.size() != outline.shown) {
    return Error{.detail = "the value decompresses to another size than it states"};
  }
  return content;
}

// Returns `front` and the value in one buffer, without a second copy of a value that was compressed.
Result<Buffer> joined(const RequestContext& context, Content content) {
  const std::size_t front = content.front.size();
  const std::size_t size = content.value.size();
  Buffer payload = std::move(content.buffer);
  if (payload.empty()) {
    ASSIGN_OR_RETURN(payload, Buffer::allocate(context, front + size));
    copy_bytes(content.value, payload.span().subspan(front));
  } else {
    TRY(payload.grow(context, front + size));
    std::memmove(payload.data() + front, payload.data(), size);
  }
  copy_bytes(as_bytes(content.front), payload.span());
  return payload;
}

// A single record may declare any size, so memory for it is allocated only if it is readable.
Result<std::shared_ptr<const Chunk>> decode_one(const RequestContext& context, const Wire& wire, Bytes stored,
                                                const Outline& outline, Position begin, const Limits& limits) {
  auto content = content_of(context, wire, stored, outline, limits);
  if (!content) return at(begin, std::move(content).error());
  ASSIGN_OR_RETURN(auto payload, joined(context, std::move(*content)));
  Layout layout;
  layout.add(context, payload.size());
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

}  // namespace

std::string_view codec_name(std::optional<std::uint8_t> compression) {
  const auto known = compression ? codec_of(*compression) : std::nullopt;
  return known ? to_string(*known) : std::string_view("-");
}

FileChunk::Read stored_after(std::string front, Position value) {
  return [front = std::move(front), value](const RequestContext& context, const Source& source, const Layout&,
                                           std::uint64_t offset, std::uint64_t length) -> Result<Buffer> {
    if (offset >= front.size()) return read_exactly(context, source, value + offset - front.size(), length);
    const Bytes head = as_bytes(front).subspan(static_cast<std::size_t>(offset));
    const Bytes taken = head.first(static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), length)));
    ASSIGN_OR_RETURN(const auto rest, read_exactly(context, source, value, length - taken.size()));
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(length)));
    copy_bytes(taken, bytes.span());
    copy_bytes(rest.view(), bytes.span().subspan(taken.size()));
    return bytes;
  };
}

Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, const Source& source,
                                                    const Wire& wire, Bytes stored, Position begin,
                                                    const Limits& limits) {
  ASSIGN_OR_RETURN(const auto outlines, outlines_of(context, wire, stored, begin));
  std::uint64_t size = 0;
  for (const Outline& record : outlines) {
    if (record.shown > limits.decoded_chunk - size) return framed::too_large(begin, record.shown);
    size += record.shown;
  }
  const auto why = [&](Error error, const Outline& record) {
    if (auto unreadable = source.unreadable_in(begin, begin + record.stored)) error = std::move(*unreadable);
    error.end = begin + record.stored;
    return at(begin, std::move(error));
  };
  if (outlines.size() == 1) {
    auto one = decode_one(context, wire, stored, outlines.front(), begin, limits);
    return !one && one.error().code == Code::kDamage ? why(std::move(one).error(), outlines.front()) : one;
  }
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(size)));
  Layout layout;
  for (const Outline& record : outlines) {
    auto content = content_of(context, wire, stored.first(static_cast<std::size_t>(record.stored)), record, limits);
    if (!content && !is_permanent(content.error().code)) return at(begin, std::move(content).error());
    const MutableBytes rest = payload.span().subspan(static_cast<std::size_t>(layout.end()));
    if (content) {
      copy_bytes(as_bytes(content->front), rest);
      copy_bytes(content->value, rest.subspan(content->front.size()));
      layout.add(context, record.shown);
    } else {
      std::ranges::fill(rest.first(static_cast<std::size_t>(record.shown)), std::byte{0});
      layout.add_failed(context, record.shown, why(std::move(content).error(), record));
    }
    stored = stored.subspan(static_cast<std::size_t>(record.stored));
    begin += record.stored;
  }
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

}  // namespace recordfs::rocksdb_blob
