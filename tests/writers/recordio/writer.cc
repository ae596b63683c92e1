#include "tests/writers/recordio/writer.h"

#include <algorithm>
#include <span>

#include "core/hash/crc32.h"

namespace recordfs::recordio_writer {
namespace {

constexpr std::size_t kHeaderSize = 28;
constexpr std::uint64_t kUnpackedMagic = 0x20bdd9f03195aefc;
constexpr std::uint64_t kPackedMagic = 0x2e3c0734eb47762e;

std::uint64_t number_of(Magic magic) {
  switch (magic) {
    case Magic::kHeader: return 0xf70416c25cd9e1d9;
    case Magic::kBody: return kPackedMagic;
    case Magic::kTrailer: return 0x3a75dfcbd71abafe;
  }
  return 0;
}

std::string fixed(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  return bytes;
}

std::string table_of(const std::vector<std::string>& items) {
  std::string table = varint(items.size());
  for (const std::string& item : items) table += varint(item.size());
  return table;
}

std::string joined(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) all += item;
  return all;
}

}  // namespace

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string content_of(const std::vector<std::string>& items) { return table_of(items) + joined(items); }

std::string chunk(const ChunkSpec& spec) {
  const std::string covered =
      fixed(spec.flag, 4) + fixed(spec.payload.size(), 4) + fixed(spec.total, 4) + fixed(spec.index, 4) + spec.payload;
  std::string bytes = fixed(number_of(spec.magic), 8) + fixed(crc32(as_bytes(covered)), 4) + covered;
  constexpr std::string_view kPadding = "\xde\xad\xbe\xef";
  for (std::size_t i = 0; bytes.size() < kChunkSize; ++i) bytes.push_back(kPadding[i % kPadding.size()]);
  return bytes;
}

std::string block(Magic magic, std::string_view content, std::size_t largest) {
  const std::size_t total = std::max<std::size_t>((content.size() + largest - 1) / largest, 1);
  std::string bytes;
  for (std::size_t i = 0; i < total; ++i) {
    bytes += chunk({magic, std::string(content.substr(i * largest, largest)), static_cast<std::uint32_t>(total),
                    static_cast<std::uint32_t>(i)});
  }
  return bytes;
}

std::string bool_value(bool value) { return std::string("\1") + (value ? '\1' : '\0'); }

std::string int_value(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return "\2" + varint(value < 0 ? ~(bits << 1) : bits << 1);
}

std::string uint_value(std::uint64_t value) { return "\3" + varint(value); }

std::string string_value(std::string_view value) { return "\4" + uint_value(value.size()) + std::string(value); }

std::string header(const std::vector<Pair>& pairs) {
  std::string item = uint_value(pairs.size());
  for (const Pair& pair : pairs) item += pair.key + pair.value;
  return block(Magic::kHeader, content_of({item}));
}

std::string header_with(const std::vector<std::string>& transformers) {
  std::vector<Pair> pairs;
  for (const std::string& name : transformers) pairs.push_back({string_value("transformer"), string_value(name)});
  return header(pairs);
}

void mend_chunk(std::string& file, std::size_t begin) {
  const Bytes bytes = as_bytes(file).subspan(begin, kChunkSize);
  std::size_t size = 0;
  for (std::size_t i = 4; i > 0; --i) size = size << 8 | std::to_integer<std::size_t>(bytes[16 + i - 1]);
  const std::string sum = fixed(crc32(bytes.subspan(12, kHeaderSize - 12 + size)), 4);
  file.replace(begin + 8, 4, sum);
}

std::string legacy_record(std::uint64_t magic, std::string_view payload) {
  const std::string length = fixed(payload.size(), 8);
  return fixed(magic, 8) + length + fixed(crc32(as_bytes(length)), 4) + std::string(payload);
}

std::string unpacked(std::string_view item) { return legacy_record(kUnpackedMagic, item); }

std::string packed(const std::vector<std::string>& items, std::string_view stored) {
  const std::string table = table_of(items);
  return legacy_record(kPackedMagic, fixed(crc32(as_bytes(table)), 4) + table + std::string(stored));
}

std::string packed(const std::vector<std::string>& items) { return packed(items, joined(items)); }

}  // namespace recordfs::recordio_writer
