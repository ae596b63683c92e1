#include "core/formats/riegeli/simple.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/riegeli/stored.h"

namespace recordfs::riegeli {
namespace {

constexpr std::uint64_t kLongestVarint = 10;
// The compression type and the size of the sizes.
constexpr std::uint64_t kLongestPreamble = 1 + kLongestVarint;
constexpr int kRereads = 4;

struct Parts {
  CodecId codec = CodecId::kNone;
  Bytes sizes = {};
  Bytes values = {};
};

Error in_chunk(Error error, const ChunkInfo& chunk, std::string_view part) {
  return chunk_error(error.code, chunk, fmt::format("{}: {}", part, error.detail));
}

Result<Parts> split(const ChunkInfo& chunk, Bytes data) {
  Cursor cursor(data);
  const std::uint8_t compression_type = cursor.u8();
  if (!cursor.ok()) return chunk_error(Code::kDamage, chunk, "the chunk has no compression type");
  auto codec = require_codec(compression_type);
  if (!codec) return in_chunk(std::move(codec).error(), chunk, "simple chunk");
  Parts parts{.codec = *codec};
  parts.sizes = cursor.take(cursor.varint64());
  if (!cursor.ok()) return chunk_error(Code::kDamage, chunk, "the record sizes are longer than the chunk");
  parts.values = cursor.rest();
  return parts;
}

// `sizes` as they stand after decompression.
Result<Layout> parse_sizes(const ChunkInfo& chunk, Bytes sizes) {
  if (sizes.size() < *chunk.records) return chunk_error(Code::kDamage, chunk, "fewer record sizes than records");
  Layout layout;
  layout.reserve(*chunk.records);
  Cursor cursor(sizes);
  std::uint64_t left = *chunk.decoded_size;
  for (std::uint64_t i = 0; i < *chunk.records; ++i) {
    const std::uint64_t size = cursor.varint64();
    if (size > left) return chunk_error(Code::kDamage, chunk, "the record sizes add up to more than the chunk holds");
    left -= size;
    layout.add(size);
  }
  if (!cursor.ok()) return chunk_error(Code::kDamage, chunk, "fewer record sizes than records");
  if (!cursor.at_end()) return chunk_error(Code::kDamage, chunk, "more record sizes than records");
  if (left > 0) return chunk_error(Code::kDamage, chunk, "the record sizes add up to less than the chunk holds");
  return layout;
}

std::uint64_t longest_sizes(const ChunkInfo& chunk) { return *chunk.records * kLongestVarint; }

Result<Layout> layout_of(const ChunkInfo& chunk, const Parts& parts) {
  auto sizes = open_unit(parts.codec, parts.sizes, longest_sizes(chunk));
  if (!sizes && sizes.error().code == Code::kLimit) {
    return chunk_error(Code::kDamage, chunk, "more record sizes than records");
  }
  if (!sizes) return in_chunk(std::move(sizes).error(), chunk, "record sizes");
  return parse_sizes(chunk, sizes->bytes());
}

// The values of an uncompressed chunk, where they stand in the file.
class PartsChunk final : public Chunk {
 public:
  PartsChunk(Layout layout, std::shared_ptr<const Source> source, const ChunkInfo& chunk, std::uint64_t generation)
      : Chunk(std::move(layout)), source_(std::move(source)), chunk_(chunk), verified_(generation) {}

  std::uint64_t payload_size() const override { return *chunk_.decoded_size; }
  std::uint64_t memory() const override { return sizeof(*this) + layout().memory(); }

  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const override {
    auto bytes = Buffer::allocate(static_cast<std::size_t>(length));
    if (!bytes) return std::move(bytes).error();
    const std::uint64_t first_value = chunk_.stored_size - *chunk_.decoded_size;
    for (int i = 0; i < kRereads; ++i) {
      if (auto got = read_data(*source_, chunk_.begin, first_value + offset, bytes->span()); !got) {
        return std::move(got).error();
      }
      const std::uint64_t generation = source_->generation();
      if (generation == verified_.load(std::memory_order_acquire)) return share(std::move(*bytes));
      if (auto sound = verify_data(*source_, chunk_); !sound) return std::move(sound).error();
      verified_.store(generation, std::memory_order_release);
    }
    return chunk_error(Code::kChanged, chunk_, "the file is being written to while it is read");
  }

 private:
  static Slice share(Buffer bytes) {
    auto owner = std::make_shared<const Buffer>(std::move(bytes));
    return {owner->view(), owner};
  }

  const std::shared_ptr<const Source> source_;
  const ChunkInfo chunk_;
  mutable std::atomic<std::uint64_t> verified_;  // the source's generation before the hash was checked
};

}  // namespace

Result<Layout> simple_layout(const ChunkInfo& chunk, Bytes data) {
  auto parts = split(chunk, data);
  if (!parts) return std::move(parts).error();
  return layout_of(chunk, *parts);
}

Result<std::shared_ptr<const Chunk>> decode_simple(const ChunkInfo& chunk, Bytes data) {
  auto parts = split(chunk, data);
  if (!parts) return std::move(parts).error();
  auto layout = layout_of(chunk, *parts);
  if (!layout) return std::move(layout).error();
  auto payload = Buffer::allocate(static_cast<std::size_t>(*chunk.decoded_size));
  if (!payload) return std::move(payload).error();
  if (auto opened = open_unit_into(parts->codec, parts->values, payload->span()); !opened) {
    return in_chunk(std::move(opened).error(), chunk, "record values");
  }
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(*payload), std::move(*layout)));
}

Result<std::shared_ptr<const Chunk>> simple_by_parts(std::shared_ptr<const Source> source, const ChunkInfo& chunk) {
  if (chunk.codec != to_string(CodecId::kNone)) return std::shared_ptr<const Chunk>{};
  const std::uint64_t generation = source->generation();
  if (auto sound = verify_data(*source, chunk); !sound) return std::move(sound).error();
  // What stands before the values can't be longer than this in a sound chunk.
  const std::uint64_t head_size = std::min(chunk.stored_size, kLongestPreamble + longest_sizes(chunk));
  if (chunk.stored_size < *chunk.decoded_size) {
    return chunk_error(Code::kDamage, chunk, "fewer bytes stored than declared");
  }
  auto head = Buffer::allocate(static_cast<std::size_t>(head_size));
  if (!head) return std::move(head).error();
  if (auto read = read_data(*source, chunk.begin, 0, head->span()); !read) return std::move(read).error();
  Cursor cursor(head->view());
  cursor.u8();
  const Bytes sizes = cursor.take(cursor.varint64());
  if (!cursor.ok() || chunk.stored_size - cursor.offset() != *chunk.decoded_size) {
    return chunk_error(Code::kDamage, chunk, "the record values are not as long as declared");
  }
  auto layout = parse_sizes(chunk, sizes);
  if (!layout) return std::move(layout).error();
  return std::shared_ptr<const Chunk>(
      std::make_shared<PartsChunk>(std::move(*layout), std::move(source), chunk, generation));
}

}  // namespace recordfs::riegeli
