// Tables of LevelDB, without RocksDB's additions. A record is an entry: length, key, length, value.
#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kFooterSize = 48;
constexpr std::size_t kTrailerSize = 5;  // compression (1), checksum (4)
constexpr std::uint64_t kMagic = 0xDB4775248B80FB57;

struct Place {
  std::uint64_t begin = 0, size = 0;
};

Place take_place(std::string_view& bytes) {
  const std::uint64_t begin = take_varint(bytes);
  return {begin, take_varint(bytes)};
}

Place index_of(std::string_view footer) {
  if (number_at<std::uint64_t>(footer, 40) != kMagic) fail("leveldb_table: no footer");
  take_place(footer);  // the meta index
  return take_place(footer);
}

std::string_view content_of(std::string_view block, Unpacker& unpacker) {
  const std::string_view covered = block.substr(0, block.size() - 4);
  if (masked_crc32c(covered) != number_at<std::uint32_t>(block, covered.size())) {
    fail("leveldb_table: the checksum of a block does not match");
  }
  const std::string_view stored = covered.substr(0, covered.size() - 1);
  switch (covered.back()) {
    case 0: return stored;
    case 1: return unpacker.snappy(stored);
    case 2: return unpacker.zstd(stored);
    default: fail("leveldb_table: unknown compression");
  }
}

// Calls add(key, value) for each entry of a block's content.
template <class Add>
void for_each_entry(std::string_view content, std::string& key, Add add) {
  if (content.size() < 4) fail("leveldb_table: a block is too small");
  const std::uint64_t restarts = number_at<std::uint32_t>(content, content.size() - 4);
  if (restarts > content.size() / 4 - 1) fail("leveldb_table: a block has too many restart points");
  content.remove_suffix(4 * (restarts + 1));
  while (!content.empty()) {
    const std::uint64_t shared = take_varint(content);
    const std::uint64_t rest = take_varint(content);
    const std::uint64_t size = take_varint(content);
    if (shared > key.size()) fail("leveldb_table: a key shares too much");
    key.resize(shared);
    key += take_bytes(content, rest);
    add(key, take_bytes(content, size));
  }
  key.clear();
}

void append_with_length(std::string& out, std::string_view bytes) {
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) out += static_cast<char>(length | 0x80);
  out += static_cast<char>(length);
  out += bytes;
}

}  // namespace

void read_leveldb_table(Input& in, Output& out) {
  if (in.size() < kFooterSize) fail("leveldb_table: no footer");
  const Place index = index_of(in.at(in.size() - kFooterSize, kFooterSize));
  Unpacker unpacker;
  Unpacker unpacker_of_index;
  const std::string index_block = in.at(index.begin, index.size + kTrailerSize);
  std::string key;
  std::string key_of_index;
  std::string record;
  std::uint64_t at = 0;
  for_each_entry(content_of(index_block, unpacker_of_index), key_of_index, [&](const auto&, std::string_view value) {
    const Place block = take_place(value);
    if (block.begin != at) fail("leveldb_table: the blocks are not consecutive");
    at += block.size + kTrailerSize;
    const std::string_view content = content_of(in.need(block.size + kTrailerSize), unpacker);
    for_each_entry(content, key, [&](std::string_view whole_key, std::string_view entry) {
      record.clear();
      append_with_length(record, whole_key);
      append_with_length(record, entry);
      out.add(record);
    });
  });
}

}  // namespace recordfs::bench
