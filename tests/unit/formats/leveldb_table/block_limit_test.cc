// What recordfs refuses to read of a table: blocks above the limits, and later versions of the format.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/formats/leveldb_table/format.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/hash/xxhash.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::leveldb_table {
namespace {

std::shared_ptr<const Source> source_of(const std::string& bytes) {
  return std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
}

Result<Buffer> read_first_block(const Limits& limits) {
  TableWriter table;
  table.add({{internal_key("name", 7, 1), std::string(2000, 'v')}});
  const std::uint64_t size = table.blocks().size() - kTrailerSize;
  return read_block({}, *source_of(table.finish()), {0, size}, {}, limits);
}

TEST(BlockLimitTest, UncompressedBlockMayBeAsLargeAsADecompressedOne) {
  EXPECT_TRUE(read_first_block({.stored_chunk = 1000, .decoded_chunk = 5000}));
}

TEST(BlockLimitTest, BlockAboveTheLimitNamesTheLimitAndTheOption) {
  const auto read = read_first_block({.stored_chunk = 1000, .decoded_chunk = 1000});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kLimit);
  EXPECT_NE(read.error().detail.find("exceeds the limit of 1000 bytes (see --max-chunk)"), std::string::npos)
      << read.error().detail;
}

// Returns a table of this version, whose footer has the right checksum.
std::string with_version(std::uint32_t version) {
  std::string bytes = testing::read_file("tests/corpus/leveldb_table/rocksdb9-version-6.sst");
  const std::size_t begin = bytes.size() - kRocksDbFooterSize;
  const auto footer = parse_footer(as_bytes(bytes).subspan(begin), bytes.size());
  EXPECT_TRUE(footer && footer->flaw.empty() && footer->dialect.checksum == Checksum::kXxh3);
  const auto put = [&](std::size_t at, std::uint32_t number) {
    for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(number >> (8 * i) & 0xffu);
  };
  constexpr std::size_t kChecksumAt = 5;
  put(bytes.size() - 12, version);
  put(begin + kChecksumAt, 0);
  const Bytes covered = as_bytes(bytes).subspan(begin);
  const auto sum = static_cast<std::uint32_t>(xxh3(covered.first(covered.size() - 1)));
  put(begin + kChecksumAt, with_type_apart(sum, covered.back()) + context_of(footer->dialect, begin));
  return bytes;
}

TEST(LaterVersionTest, FooterOfALaterVersionIsUnsupportedAndADamagedVersionIsDamage) {
  EXPECT_TRUE(parse_footer(as_bytes(with_version(7)), with_version(7).size())->flaw.empty());
  const std::string later = with_version(8);
  const auto footer = parse_footer(as_bytes(later), later.size());
  ASSERT_TRUE(footer);
  EXPECT_EQ(footer->flaw, "unknown format version 8");
  EXPECT_EQ(footer->flaw_code, Code::kUnsupported);
  std::string damaged = with_version(6);
  damaged[damaged.size() - 12] = '\x46';
  EXPECT_EQ(parse_footer(as_bytes(damaged), damaged.size())->flaw_code, Code::kDamage);
  EXPECT_EQ(parse_footer(as_bytes(damaged), damaged.size())->dialect.context, 0u) << "taken from a damaged footer";
}

}  // namespace
}  // namespace recordfs::leveldb_table
