// Entries by key within a block, and filters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/leveldb_table/filter.h"
#include "core/formats/leveldb_table/seek.h"

namespace recordfs::leveldb_table {
namespace {

// A block of keys "k00", "k02", ... with a restart point for each `interval` of them.
std::string block_of(int count, int interval) {
  std::string content, restarts, last;
  std::uint32_t points = 0;
  const auto put = [](std::string& to, std::uint32_t number) {
    for (int i = 0; i < 4; ++i) to += static_cast<char>(number >> (8 * i) & 0xffu);
  };
  for (int i = 0; i < count; ++i) {
    std::string key = std::to_string(2 * i);
    key = "k" + std::string(3 - key.size(), '0') + key;
    const bool is_restart = i % interval == 0;
    if (is_restart) {
      put(restarts, static_cast<std::uint32_t>(content.size()));
      ++points;
    }
    const std::size_t shared = is_restart ? 0 : 1;
    content += static_cast<char>(shared);
    content += static_cast<char>(key.size() - shared);
    content += '\1';
    content += key.substr(shared);
    content += 'v';
  }
  put(restarts, points);
  return content + restarts;
}

BlockIterator seek(const std::string& block, std::string_view wanted) {
  auto entries = BlockIterator::over(as_bytes(block), {});
  EXPECT_TRUE(entries);
  entries->seek([&](Bytes key) { return as_text(key) < wanted; });
  return *std::move(entries);
}

TEST(BlockSeekTest, FirstEntryThatIsNotBeforeTheKeyIsFound) {
  for (const int interval : {1, 3, 16, 100}) {
    const std::string block = block_of(50, interval);
    for (int i = 0; i < 99; ++i) {
      const std::string wanted = fmt::format("k{:03}", i);
      const auto entries = seek(block, wanted);
      ASSERT_TRUE(entries.is_valid()) << wanted;
      EXPECT_EQ(as_text(entries.key()), fmt::format("k{:03}", i + i % 2));
      EXPECT_FALSE(entries.has_skipped());
    }
  }
}

TEST(BlockSeekTest, KeyAfterTheLastEntryIsTheEnd) { EXPECT_FALSE(seek(block_of(50, 4), "k099").is_valid()); }

TEST(BlockSeekTest, InvalidEntryIsSkippedUpToTheNextRestartPoint) {
  std::string block = block_of(8, 4);
  block[0] = '\7';  // the first entry shares bytes with none
  auto entries = BlockIterator::over(as_bytes(block), {});
  ASSERT_TRUE(entries);
  EXPECT_TRUE(entries->has_skipped());
  ASSERT_TRUE(entries->is_valid());
  EXPECT_EQ(as_text(entries->key()), "k008");
}

TEST(BlockSeekTest, RestartPointsOutsideTheBlockAreTheEnd) {
  std::string block = block_of(8, 4);
  block[block.size() - 5] = '\x7f';  // of the last restart point
  const auto entries = seek(block, "k014");
  EXPECT_TRUE(entries.is_valid());
  EXPECT_EQ(as_text(entries.key()), "k014");
}

TEST(TableFilterTest, UnknownPolicyIsNoFilter) {
  auto bytes = Buffer::copy_of({}, as_bytes("0123456789"));
  ASSERT_TRUE(bytes);
  EXPECT_FALSE(Filter::of(std::move(*bytes), "filter", "another.Filter"));
}

TEST(TableFilterTest, InvalidFilterExcludesNothing) {
  for (const char* kind : {"filter", "fullfilter"}) {
    auto bytes = Buffer::copy_of({}, as_bytes(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\xff", 10)));
    ASSERT_TRUE(bytes);
    const auto filter = Filter::of(std::move(*bytes), kind, "rocksdb.BuiltinBloomFilter");
    ASSERT_TRUE(filter);
    EXPECT_TRUE(filter->may_contain(as_bytes("key"), 0));
  }
}

}  // namespace
}  // namespace recordfs::leveldb_table
