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

constexpr std::uint64_t kUnreadableSize = 1;
constexpr std::uint64_t kLargestKey = 64u << 10;  // bytes; of a record that is read in place

Error wrong_value(Position at) { return {Code::kDamage, at, "a record that does not match its checksum"}; }

Error at(Position position, Error error) {
  error.position = position;
  return error;
}

// Reads a payload that is `front`, followed by what is stored from `value` on.
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

}  // namespace

Error not_as_found(Position at) { return {Code::kDamage, at, "the records are not those that the scan found"}; }

Error too_large(Position at, std::uint64_t size) {
  return {Code::kLimit, at, fmt::format("a record of {} bytes exceeds the limit", size)};
}

// A record as shown: what precedes the value, and the value.
struct Records::Content {
  std::string front;
  Bytes value;
  Buffer buffer{};  // holds the value if it was compressed
};

std::string_view Records::codec() const {
  const auto known = compression_ ? codec_of(*compression_) : std::nullopt;
  return known ? to_string(*known) : std::string_view("-");
}

// `front`: the beginning of the value, if it is compressed.
Outline Records::outline(const RecordHeader& header, Bytes front) const {
  if (are_stored()) return {header.size(), record_size(header.key_size, header.value_size)};
  const auto value_size = compression_ ? decoded_size(*compression_, front) : std::nullopt;
  return {header.size(), value_size ? record_size(header.key_size, *value_size) : kUnreadableSize};
}

Result<std::optional<Outline>> Records::outline_at(const RequestContext& context, WindowedReader& headers, Position at,
                                                   Position end) const {
  ASSIGN_OR_RETURN(const auto bytes, headers.from(context, at, kRecordHeaderSize));
  const auto header = parse_record_header(bytes);
  if (!header || !header->fits(end - at)) return std::optional<Outline>{};
  if (are_stored()) return std::optional(outline(*header, {}));
  const auto size_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kMostSizeBytes, header->value_size));
  const Position value = at + kRecordHeaderSize + header->key_size;
  ASSIGN_OR_RETURN(const auto front, headers.from(context, value, size_bytes));
  return std::optional(outline(*header, front.first(std::min(front.size(), size_bytes))));
}

// Returns the outlines of records in memory.
Result<std::vector<Outline>> Records::outlines_of(const RequestContext& context, Bytes stored, Position begin) const {
  std::vector<Outline> outlines;
  for (std::size_t done = 0; done < stored.size();) {
    const Bytes rest = stored.subspan(done);
    const auto header = parse_record_header(rest);
    if (!header || !header->fits(rest.size())) return not_as_found(begin + done);
    const Bytes record = rest.first(static_cast<std::size_t>(header->size()));
    const Bytes value = record.last(static_cast<std::size_t>(header->value_size));
    context.announce_growth(outlines);
    outlines.push_back(outline(*header, value.first(std::min(value.size(), kMostSizeBytes))));
    done += record.size();
  }
  return outlines;
}

Result<Records::Content> Records::content_of(const RequestContext& context, Bytes stored,
                                             const Outline& outline) const {
  ASSIGN_OR_RETURN(const auto record, check_record(stored));
  if (!compression_) return Error{.detail = "the file's header is damaged, which states the compression"};
  Content content{.front = {}, .value = record.value};
  if (!are_stored()) {
    ASSIGN_OR_RETURN(content.buffer, decompress_value(context, *compression_, record.value, limits_.decoded_chunk));
    content.value = content.buffer.view();
  }
  content.front = record_front(record.key, content.value.size());
  if (content.front.size() + content.value.size() != outline.shown) {
    return Error{.detail = "the value decompresses to another size than it states"};
  }
  return content;
}

// Returns `front` and the value in one buffer, without a second copy of a value that was compressed.
Result<Buffer> Records::joined(const RequestContext& context, Content content) {
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
Result<std::shared_ptr<const Chunk>> Records::decode_one(const RequestContext& context, Bytes stored,
                                                         const Outline& outline, Position begin) const {
  auto content = content_of(context, stored, outline);
  if (!content) return at(begin, std::move(content).error());
  ASSIGN_OR_RETURN(auto payload, joined(context, std::move(*content)));
  Layout layout;
  layout.add(context, payload.size());
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

Result<std::shared_ptr<const Chunk>> Records::decode(const RequestContext& context, const Source& source, Bytes stored,
                                                     Position begin) const {
  ASSIGN_OR_RETURN(const auto outlines, outlines_of(context, stored, begin));
  std::uint64_t size = 0;
  for (const Outline& record : outlines) {
    if (record.shown > limits_.decoded_chunk - size) return too_large(begin, record.shown);
    size += record.shown;
  }
  const auto why = [&](Error error, const Outline& record) {
    if (auto unreadable = source.unreadable_in(begin, begin + record.stored)) error = std::move(*unreadable);
    error.end = begin + record.stored;
    return at(begin, std::move(error));
  };
  if (outlines.size() == 1) {
    auto one = decode_one(context, stored, outlines.front(), begin);
    return !one && one.error().code == Code::kDamage ? why(std::move(one).error(), outlines.front()) : one;
  }
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(size)));
  Layout layout;
  for (const Outline& record : outlines) {
    auto content = content_of(context, stored.first(static_cast<std::size_t>(record.stored)), record);
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

Result<void> verify_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  WindowedReader headers = header_reader(source);
  for (Position at = chunk.begin; at < chunk.end;) {
    ASSIGN_OR_RETURN(const auto bytes, headers.from(context, at, kRecordHeaderSize));
    const auto header = parse_record_header(bytes);
    if (!header || !header->fits(chunk.end - at)) return not_as_found(at);
    ASSIGN_OR_RETURN(const auto sound, is_sound(context, source, at + kRecordHeaderSize, *header));
    if (!sound) return wrong_value(at);
    at += header->size();
  }
  return {};
}

Result<std::shared_ptr<const Chunk>> open_record(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 Position begin, Position end) {
  const std::uint64_t generation = source->generation();
  ASSIGN_OR_RETURN(const auto bytes, read_exactly(context, *source, begin, kRecordHeaderSize));
  const auto header = parse_record_header(bytes.view());
  if (!header || !header->fits(end - begin)) return not_as_found(begin);
  if (header->key_size > kLargestKey) return std::shared_ptr<const Chunk>{};
  const Position key_begin = begin + kRecordHeaderSize;
  ASSIGN_OR_RETURN(const auto key, read_exactly(context, *source, key_begin, header->key_size));
  const auto verify = [begin, header = *header](const RequestContext& request, const Source& from) -> Result<void> {
    ASSIGN_OR_RETURN(const auto sound, is_sound(request, from, begin + kRecordHeaderSize, header));
    return sound ? Result<void>() : wrong_value(begin);
  };
  auto verified = verify(context, *source);
  if (!verified && !is_permanent(verified.error().code)) return std::move(verified).error();
  std::string front = record_front(key.view(), header->value_size);
  const std::uint64_t held = front.size();
  Layout layout;
  if (verified) {
    layout.add(context, held + header->value_size);
  } else {
    layout.add_failed(context, held + header->value_size, std::move(verified).error());
  }
  auto read = stored_after(std::move(front), key_begin + header->key_size);
  return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(
      std::move(source), std::move(layout), std::move(read), FileChunk::Verified{generation, begin, verify}, held));
}

}  // namespace recordfs::rocksdb_blob
