#include "tests/unit/formats/bloscpack/writer.h"

#include <blosc.h>

#include <cstdlib>
#include <numeric>

#include "core/base/bytes.h"

namespace recordfs::bloscpack {
namespace {

std::string number(std::uint64_t value, std::size_t width) {
  std::string bytes(width, '\0');
  put(bytes, 0, width, value);
  return bytes;
}

std::string digest_of(const std::string& bytes, std::optional<DigestId> id) {
  if (!id) return {};
  Digester digester(*id);
  digester.append(as_bytes(bytes));
  return std::string(as_text(digester.finish().view()));
}

std::string metadata_section(const FileShape& shape) {
  if (!shape.metadata || shape.version < 3) return {};
  if (shape.is_variable) return *shape.metadata;
  const std::size_t room = shape.metadata->size() + 10;
  std::string section("JSON\0\0\0\0\0\1\0\0", 12);
  section += number(shape.metadata->size(), 4) + number(room, 4) + number(shape.metadata->size(), 4) + number(0, 8);
  return section + *shape.metadata + std::string(10, '\0') + digest_of(*shape.metadata, DigestId::kAdler32);
}

std::string header(const FileShape& shape) {
  const auto count = static_cast<std::uint64_t>(shape.count.value_or(static_cast<std::int64_t>(shape.chunks.size())));
  std::string bytes = "blpk";
  if (shape.version == 0) return bytes + number(count, 4);
  bytes += static_cast<char>(shape.version);
  if (shape.version == 1) return bytes + std::string(3, '\0') + number(count, 8);
  const int options = (shape.has_offsets ? 1 : 0) + (shape.metadata ? 2 : 0) + (shape.is_variable ? 4 : 0);
  bytes += static_cast<char>(options);
  bytes += static_cast<char>(shape.digest ? static_cast<int>(*shape.digest) + 1 : 0);
  bytes += '\1';
  bytes +=
      number(static_cast<std::uint64_t>(shape.chunk_size), 4) + number(static_cast<std::uint64_t>(shape.last_chunk), 4);
  bytes += number(count, 8);
  return bytes +
         number(shape.is_variable ? metadata_section(shape).size() : static_cast<std::uint64_t>(shape.spare), 8);
}

}  // namespace

void put(std::string& bytes, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width; ++i) bytes.at(at + i) = static_cast<char>(value >> 8 * i & 0xFF);
}

std::string plain_chunk(std::string_view text) {
  std::string chunk = {2, 1, 2, 1};
  chunk += number(text.size(), 4) + number(text.size(), 4) + number(text.size() + 16, 4);
  return chunk.append(text);
}

std::string blosc_chunk(std::string_view text, const char* codec, std::size_t block_size, std::size_t typesize) {
  std::string chunk(text.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size = blosc_compress_ctx(5, BLOSC_SHUFFLE, typesize, text.size(), text.data(), chunk.data(), chunk.size(),
                                      codec, block_size, 1);
  if (size <= 0) std::abort();
  chunk.resize(static_cast<std::size_t>(size));
  return chunk;
}

MadeFile make_file(const FileShape& shape) {
  MadeFile file;
  file.bytes = header(shape) + metadata_section(shape);
  file.offsets = file.bytes.size();
  file.begins.resize(shape.chunks.size());
  const bool has_offsets = shape.has_offsets && shape.version >= 2;
  if (has_offsets) file.bytes.append(8 * (shape.chunks.size() + static_cast<std::size_t>(shape.spare)), '\xFF');
  std::vector<std::size_t> order = shape.order;
  if (order.empty()) {
    order.resize(shape.chunks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  for (const std::size_t index : order) {
    file.begins[index] = file.bytes.size();
    if (has_offsets) put(file.bytes, file.offsets + 8 * index, 8, file.bytes.size());
    file.bytes += shape.chunks[index] + (shape.version >= 2 ? digest_of(shape.chunks[index], shape.digest) : "");
    file.bytes.append(shape.gap, '\0');
  }
  return file;
}

std::string record(std::size_t ordinal, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i / 5 + ordinal * 7 + i % 3) % 26);
  return text;
}

std::vector<std::string> plain_records(std::size_t count, std::size_t size) {
  std::vector<std::string> chunks;
  for (std::size_t i = 0; i < count; ++i) chunks.push_back(plain_chunk(record(i, size)));
  return chunks;
}

}  // namespace recordfs::bloscpack
