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

const Dialect kRocksDb{.is_rocksdb = true, .version = 7};

// A block of keys "k0", "k1", ... and values "v0", "v1", ... that follow all keys, with these flags and a restart point
// for each `interval` keys.
std::string block_with_separate_values(int count, int interval, std::uint8_t flags) {
  std::string keys, values, restarts;
  const auto put = [](std::string& to, std::uint32_t number) {
    for (int i = 0; i < 4; ++i) to += static_cast<char>(number >> (8 * i) & 0xffu);
  };
  std::uint32_t points = 0;
  for (int i = 0; i < count; ++i) {
    const bool is_restart = i % interval == 0;
    if (is_restart) {
      put(restarts, static_cast<std::uint32_t>(keys.size()));
      ++points;
    }
    const std::string key = fmt::format("k{}", i);
    keys += is_restart ? '\0' : '\1';
    keys += is_restart ? '\2' : '\1';
    keys += '\2';
    if (is_restart) keys += static_cast<char>(values.size());
    keys += is_restart ? key : key.substr(1);
    values += fmt::format("v{}", i);
  }
  std::string block = keys + values + restarts;
  put(block, static_cast<std::uint32_t>(keys.size()));
  put(block, points | static_cast<std::uint32_t>(flags) << 28);
  return block;
}

TEST(SeparateValuesTest, ValuesAfterAllKeysBelongToTheirKeys) {
  for (const int interval : {1, 3, 4, 16}) {
    const std::string block = block_with_separate_values(10, interval, 1);
    auto entries = BlockIterator::over(as_bytes(block), kRocksDb);
    ASSERT_TRUE(entries);
    for (int i = 0; i < 10; ++i, entries->next()) {
      ASSERT_TRUE(entries->is_valid());
      EXPECT_EQ(as_text(entries->key()), fmt::format("k{}", i));
      EXPECT_EQ(as_text(entries->value()), fmt::format("v{}", i));
    }
    EXPECT_FALSE(entries->is_valid());
    EXPECT_FALSE(entries->has_skipped());
    for (int i = 0; i < 10; ++i) {
      entries->seek([&](Bytes key) { return as_text(key) < fmt::format("k{}", i); });
      ASSERT_TRUE(entries->is_valid());
      EXPECT_EQ(as_text(entries->value()), fmt::format("v{}", i));
    }
  }
}

TEST(SeparateValuesTest, ValueOutsideTheValuesIsAnInvalidEntry) {
  std::string block = block_with_separate_values(8, 4, 1);
  block[3] = '\x7f';  // the offset of the first value
  auto entries = BlockIterator::over(as_bytes(block), kRocksDb);
  ASSERT_TRUE(entries);
  EXPECT_TRUE(entries->has_skipped());
  ASSERT_TRUE(entries->is_valid());
  EXPECT_EQ(as_text(entries->key()), "k4");
  EXPECT_EQ(as_text(entries->value()), "v4");
}

TEST(SeparateValuesTest, ValuesThatWouldBeginAfterTheBlockAreNoBlock) {
  std::string block = block_with_separate_values(8, 4, 1);
  block[block.size() - 7] = '\x7f';
  EXPECT_FALSE(BlockIterator::over(as_bytes(block), kRocksDb));
}

TEST(BlockFlagsTest, EvenlyDistributedKeysAreReadAndUnknownFlagsAreNot) {
  std::string block = block_of(8, 4);
  block.back() = '\x20';
  EXPECT_TRUE(BlockIterator::over(as_bytes(block), kRocksDb));
  EXPECT_FALSE(BlockIterator::over(as_bytes(block), {})) << "LevelDB has no flags";
  block.back() = '\x40';
  EXPECT_FALSE(BlockIterator::over(as_bytes(block), kRocksDb));
  EXPECT_TRUE(BlockIterator::over(as_bytes(block_with_separate_values(8, 4, 3)), kRocksDb));
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
