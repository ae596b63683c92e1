#include "core/formats/wandb/format.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/hash/crc32.h"

namespace recordfs::wandb {
namespace {

constexpr std::size_t kFrame = leveldb_log::kFrameSize;
const std::string kIdent(":W&B\xe1\xbe\0", 7);

std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string fragment(char type, const std::string& payload) {
  return number(crc32(as_bytes(type + payload)), 4) + number(payload.size(), 2) + type + payload;
}

// Returns a file of consecutive records of `size` bytes, in frames that begin at `origin`.
std::string file(std::size_t origin, std::size_t size, std::size_t records) {
  std::string bytes = kIdent;
  for (std::size_t i = 0; i < records; ++i) {
    std::string rest(size, 'x');
    for (bool is_first = true; is_first || !rest.empty(); is_first = false) {
      std::size_t room = kFrame - (bytes.size() - origin) % kFrame;
      if (room < 7) {
        bytes.append(room, '\0');
        room = kFrame;
      }
      const std::string piece = rest.substr(0, room - 7);
      rest.erase(0, piece.size());
      bytes += fragment(static_cast<char>(is_first ? (rest.empty() ? 1 : 2) : (rest.empty() ? 4 : 3)), piece);
    }
  }
  return bytes;
}

Position origin_of(const std::string& bytes) {
  const MemorySource source(Buffer::copy_of({}, as_bytes(bytes)).value());
  return find_wire({}, source, 8 << 20)->origin;
}

TEST(WandbIdent, IsParsedFromNameAndNumber) {
  EXPECT_EQ(parse_ident(as_bytes(kIdent))->record_type, "wandb_internal.Record");
  EXPECT_EQ(parse_ident(as_bytes(std::string(":SWL\xd6\xe1\x01", 7)))->record_type, "");
  EXPECT_EQ(parse_ident(as_bytes(std::string(":SWL\xd6\xe1\x02", 7)))->record_type, "swanlab.record.v1.Record");
  EXPECT_EQ(parse_ident(as_bytes(std::string(":W&B\xe1\xbe\x09", 7)))->version, 9);
  EXPECT_FALSE(parse_ident(as_bytes(std::string(":W&B\xe1\xbf\0", 7))));
  EXPECT_FALSE(parse_ident(as_bytes(kIdent.substr(0, 6))));
  EXPECT_EQ(cut_ident(as_bytes(kIdent.substr(0, 5))), 5u);
  EXPECT_EQ(cut_ident(as_bytes(kIdent.substr(0, 3))), 0u);
}

TEST(WandbIdent, FramesAreFoundByTheirFragments) {
  for (std::size_t size = 20; size < 9000; size = size * 3 / 2 + 1) {
    const std::size_t records = 3 * kFrame / size;
    EXPECT_EQ(origin_of(file(0, size, records)), 0u) << size;
    EXPECT_EQ(origin_of(file(7, size, records)), 7u) << size;
  }
}

TEST(WandbIdent, FramesAreFoundIfTheFirstIsDamaged) {
  for (const std::size_t origin : {std::size_t{0}, std::size_t{7}}) {
    std::string bytes = file(origin, 500, 300);
    std::fill_n(bytes.begin() + 7, 20000, '?');
    EXPECT_EQ(origin_of(bytes), origin);
  }
}

TEST(WandbIdent, FileWithoutItsFirstBytesIsRecognized) {
  for (const std::size_t origin : {std::size_t{0}, std::size_t{7}}) {
    const std::string bytes = file(origin, 500, 300).substr(20);  // the ident, and a part of the first record
    const MemorySource source(Buffer::copy_of({}, as_bytes(bytes)).value());
    EXPECT_TRUE(has_fragment({}, source, 8 << 20).value()) << origin;
  }
}

TEST(WandbIdent, FramesOfATruncatedFileAreTheSame) {
  const std::string whole = file(7, 40000, 2);
  for (std::size_t size = 100; size < whole.size(); size += 777)
    EXPECT_EQ(origin_of(whole.substr(0, size)), 7u) << size;
}

}  // namespace
}  // namespace recordfs::wandb
