#include "tests/writers/riegeli/writer.h"

#include <algorithm>

#include <zstd.h>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/formats/riegeli/wire.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli_writer {
namespace {

using riegeli::kBlockHeaderSize;
using riegeli::kBlockSize;
using riegeli::kChunkHeaderSize;

std::string word(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

std::string with_hash(const std::string& bytes) { return word(riegeli_hash(as_bytes(bytes))) + bytes; }

std::uint64_t hash_of(std::string_view bytes) { return riegeli_hash(as_bytes(bytes)); }

std::string header_of(const ChunkSpec& chunk) {
  const std::uint64_t type_and_records = chunk.num_records << 8 | static_cast<unsigned char>(chunk.type);
  return with_hash(word(chunk.data_size.value_or(chunk.data.size())) +
                   word(chunk.data_hash.value_or(hash_of(chunk.data))) + word(type_and_records) +
                   word(chunk.decoded_data_size));
}

// Returns a Brotli stream with a window of 64 KiB and one uncompressed meta-block (RFC 7932, 9.2). REQUIRES: 1 to 65536
// bytes.
std::string brotli_stream(std::string_view content) {
  const std::uint64_t head = (content.size() - 1) << 4 | std::uint64_t{1} << 20;
  return word(head).substr(0, 3) + std::string(content) + '\x03';
}

}  // namespace

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string unit(std::string_view content, char compression_type) {
  if (compression_type == 'b') return varint(content.size()) + (content.empty() ? "\x06" : brotli_stream(content));
  if (compression_type != 'z') return std::string(content);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 3));
  return varint(content.size()) + frame;
}

ChunkSpec simple_chunk(const std::vector<std::string>& records, char compression_type) {
  std::string sizes, values;
  for (const std::string& record : records) {
    sizes += varint(record.size());
    values += record;
  }
  const std::string stored_sizes = unit(sizes, compression_type);
  ChunkSpec chunk;
  chunk.num_records = records.size();
  chunk.decoded_data_size = values.size();
  chunk.data = std::string(1, compression_type) + varint(stored_sizes.size()) + stored_sizes;
  chunk.data += unit(values, compression_type);
  return chunk;
}

void Writer::put_block_header() { file_ += with_hash(word(size() - chunk_begin_) + word(chunk_end_ - size())); }

void Writer::put(std::string_view bytes) {
  while (!bytes.empty()) {
    if (size() % kBlockSize == 0) put_block_header();
    const std::string_view piece = bytes.substr(0, kBlockSize - size() % kBlockSize);
    file_ += piece;
    bytes.remove_prefix(piece.size());
  }
}

std::uint64_t Writer::add(const ChunkSpec& chunk) {
  chunk_begin_ = size();
  const riegeli::ChunkHeader header{.data_size = chunk.data.size(), .num_records = chunk.num_records};
  chunk_end_ = riegeli::chunk_end(chunk_begin_, header);
  put(header_of(chunk));
  put(chunk.data);
  while (size() < chunk_end_) {
    if (size() % kBlockSize == 0) put_block_header();
    file_.append(std::min(chunk_end_ - size(), kBlockSize - size() % kBlockSize), '\0');
  }
  return chunk_begin_;
}

void Writer::pad_to(std::uint64_t end) {
  ChunkSpec padding{.type = 'p'};
  while (riegeli::add_with_headers(size(), kChunkHeaderSize + padding.data.size()) < end) {
    padding.data.push_back('\0');
  }
  add(padding);
}

void mend_chunk(std::string& file, std::uint64_t begin) {
  Cursor cursor(as_bytes(file).subspan(begin));
  cursor.skip(8);
  const std::uint64_t data_size = cursor.u64_le();
  if (!cursor.ok() || file.size() - begin < kChunkHeaderSize + data_size) return;
  file.replace(begin + 16, 8, word(hash_of(std::string_view(file).substr(begin + kChunkHeaderSize, data_size))));
  file.replace(begin, 8, word(hash_of(std::string_view(file).substr(begin + 8, kChunkHeaderSize - 8))));
}

}  // namespace recordfs::riegeli_writer
