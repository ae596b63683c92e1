#include "tests/unit/formats/leveldb_table/table_writer.h"

#include "core/base/bytes.h"
#include "core/hash/crc32c.h"

namespace recordfs::leveldb_table {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}

std::string content_of(const Entries& entries) {
  std::string content;
  std::string restarts;
  for (const auto& [key, value] : entries) {
    restarts += number(content.size(), 4);
    content += varint(0) + varint(key.size()) + varint(value.size()) + key + value;
  }
  if (entries.empty()) restarts = number(0, 4);
  return content + restarts + number(restarts.size() / 4, 4);
}

}  // namespace

std::string internal_key(std::string_view key, std::uint64_t sequence, std::uint8_t type) {
  return std::string(key) + number(sequence << 8 | type, 8);
}

std::string TableWriter::append(const std::string& content) {
  const std::string place = varint(file_.size()) + varint(content.size());
  const std::string stored = content + '\0';
  file_ += stored + number(mask_crc(crc32c(as_bytes(stored))), 4);
  return place;
}

void TableWriter::add(const Entries& entries) {
  const std::string place = append(content_of(entries));
  index_.emplace_back(entries.back().first, place);
}

// What a footer says: the places of the meta index and of the index.
std::string TableWriter::places(const Entries& meta_blocks) {
  std::string places = append(content_of(meta_blocks));
  places += append(content_of(index_));
  places.resize(40);
  return places;
}

std::string TableWriter::finish() {
  const std::string where = places({});
  return file_ + where + number(0xdb4775248b80fb57, 8);
}

std::string TableWriter::finish_rocksdb(const Entries& properties) {
  constexpr char kCrc32c = 1;
  constexpr std::uint64_t kVersion = 5;
  const std::string where = places({{"rocksdb.properties", append(content_of(properties))}});
  return file_ + kCrc32c + where + number(kVersion, 4) + number(0x88e241b785f4cff7, 8);
}

}  // namespace recordfs::leveldb_table
