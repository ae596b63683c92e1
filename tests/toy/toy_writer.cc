#include <algorithm>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "tests/toy/toy_format.h"
#include "tests/toy/toy_wire.h"

namespace recordfs::toy {
namespace {

void put_u32(std::string& out, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xFF));
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, text.size());
  out += text;
}

std::string make_body(const Shape& shape) {
  std::string body;
  put_u32(body, shape.attributes.size());
  for (const Attribute& attribute : shape.attributes) {
    put_text(body, attribute.key);
    put_text(body, attribute.type);
    put_text(body, attribute.value);
  }
  put_text(body, shape.trailer.value_or(""));
  return body;
}

std::string make_head(const Shape& shape, std::size_t stride) {
  const std::string body = make_body(shape);
  std::string head(kFileMagic);
  put_u32(head, kFixedHeadSize + body.size() + 4);
  put_u32(head, (shape.counts_in_header ? kCounts : 0u) | (shape.small_layout ? kSmallLayout : 0u) |
                    (shape.by_parts ? kByParts : 0u) | (shape.trailer ? kTrailer : 0u) | (shape.parts ? kParts : 0u) |
                    (shape.minimal ? kMinimal : 0u));
  put_u32(head, stride);
  head += body;
  put_u32(head, check_of(as_bytes(head)));
  return head;
}

std::string make_payload(const Shape& shape, const std::vector<std::string>& records, std::uint64_t first) {
  std::string payload;
  const std::uint64_t last = std::min<std::uint64_t>(records.size(), first + shape.records_per_chunk);
  for (std::uint64_t i = first; i < last; ++i) {
    put_u32(payload, records[i].size() | (shape.unreadable_records.contains(i) ? kUnreadable : 0u));
  }
  for (std::uint64_t i = first; i < last; ++i) payload += records[i];
  return payload;
}

std::string make_chunk(const Shape& shape, const std::vector<std::string>& records, std::uint64_t number) {
  std::string payload = make_payload(shape, records, number * shape.records_per_chunk);
  std::string chunk(kChunkMagic);
  put_u32(chunk, payload.size());
  put_u32(chunk, shape.records_per_chunk);
  put_u32(chunk, shape.unsupported.contains(number) ? kUnsupportedCodec : 0u);
  put_u32(chunk, check_of(as_bytes(payload)) + (shape.broken_payloads.contains(number) ? 1u : 0u));
  put_u32(chunk, check_of(as_bytes(chunk)) + (shape.broken_headers.contains(number) ? 1u : 0u));
  return chunk + payload;
}

std::string record_of(const std::vector<PartShape>& parts) {
  std::string record;
  for (const PartShape& part : parts) {
    put_u32(record, part.parent ? *part.parent + 1 : 0);
    put_u32(record, static_cast<std::size_t>(part.kind));
    put_text(record, part.key);
    put_text(record, part.bytes);
  }
  return record;
}

std::vector<std::string> make_records(const Shape& shape) {
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < shape.chunks * shape.records_per_chunk; ++i) {
    if (shape.parts) {
      records.push_back(shape.broken_parts.contains(i) ? "no parts" : record_of(shape.parts(i)));
      continue;
    }
    records.push_back(record_text(i, shape.record_size ? shape.record_size(i) : 20 + i % 7));
  }
  return records;
}

}  // namespace

std::string record_text(std::uint64_t ordinal, std::size_t size) {
  const std::string line = fmt::format("record {} ", ordinal);
  std::string text;
  text.reserve(size + line.size());
  while (text.size() < size) text += line;
  text.resize(size);
  return text;
}

File make_file(const Shape& shape) {
  File file{.bytes = {}, .records = make_records(shape), .begins = {}, .ends = {}};
  std::vector<std::string> chunks;
  std::size_t stride = 0;
  for (std::uint64_t i = 0; i < shape.chunks; ++i) {
    chunks.push_back(make_chunk(shape, file.records, i));
    if (shape.seekable) stride = std::max(stride, chunks.back().size() + 5);
  }
  file.bytes = make_head(shape, stride);
  const std::size_t head_size = file.bytes.size();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (shape.seekable) file.bytes.resize(head_size + i * stride);
    file.begins.push_back(file.bytes.size());
    file.bytes += chunks[i];
    file.ends.push_back(file.bytes.size());
  }
  return file;
}

std::shared_ptr<const Source> source_of(std::string_view bytes) {
  auto buffer = Buffer::copy_of({}, as_bytes(bytes));
  return std::make_shared<MemorySource>(std::move(buffer).value());
}

}  // namespace recordfs::toy
