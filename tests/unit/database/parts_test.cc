// Parts of the engine on their own: orders, ranges, runs, filters.
#include <gtest/gtest.h>

#include "core/database/directory.h"
#include "core/database/key_order.h"
#include "core/database/memory_budget.h"
#include "core/database/range_deletions.h"
#include "core/database/runs.h"

namespace recordfs::database {
namespace {

TEST(KeyOrderTest, NamesOfComparatorsGiveTheirOrder) {
  EXPECT_TRUE(KeyOrder::of("leveldb.BytewiseComparator").is_before(as_bytes("a"), as_bytes("b")));
  EXPECT_TRUE(KeyOrder::of("rocksdb.ReverseBytewiseComparator").is_before(as_bytes("b"), as_bytes("a")));
  EXPECT_FALSE(KeyOrder::of("idb_cmp1").is_known());
}

TEST(KeyOrderTest, LaterTimestampComesFirst) {
  const KeyOrder order = KeyOrder::of("leveldb.BytewiseComparator.u64ts");
  const std::string old = "key" + std::string("\x01\0\0\0\0\0\0\0", 8);
  const std::string recent = "key" + std::string("\x02\0\0\0\0\0\0\0", 8);
  EXPECT_TRUE(order.is_before(as_bytes(recent), as_bytes(old)));
}

TEST(KeyOrderTest, StoredKeyIsTheUsersKeyAndATimestamp) {
  const KeyOrder order = KeyOrder::of("rocksdb.ReverseBytewiseComparator.u64ts");
  const std::string stored = order.stored_key(as_bytes("key"), 0x0102);
  EXPECT_EQ(stored, "key" + std::string("\x02\x01\0\0\0\0\0\0", 8));
  EXPECT_EQ(as_text(order.user_key(as_bytes(stored))), "key");
  EXPECT_EQ(order.timestamp(as_bytes(stored)), 0x0102u);
  EXPECT_EQ(order.timestamp(as_bytes("short")), std::nullopt);
  EXPECT_TRUE(
      order.is_before(as_bytes(order.stored_key(as_bytes("b"), 1)), as_bytes(order.stored_key(as_bytes("a"), 2))));
  EXPECT_TRUE(order.of_user_keys().is_before(as_bytes("b"), as_bytes("a")));
  EXPECT_FALSE(KeyOrder::of("own.u64ts").has_timestamps());
  EXPECT_EQ(KeyOrder().stored_key(as_bytes("key"), 7), "key");
}

TEST(RunsTest, TableEndsShortOfAKeyWithTheTagOfAnEndOnly) {
  const std::string end = "\x0f" + std::string(7, '\xff');
  const std::string entry = "\x01\x07" + std::string(6, '\0');
  const auto ends = [](const KeyOrder& order, const std::string& stored, const std::string& tag, std::string_view key) {
    return ends_short_of({.largest = stored + tag}, order, as_bytes(key));
  };
  EXPECT_TRUE(ends({}, "key", end, "key"));
  EXPECT_FALSE(ends({}, "key", end, "other"));
  EXPECT_FALSE(ends({}, "key", entry, "key"));
  const KeyOrder timed = KeyOrder::of("leveldb.BytewiseComparator.u64ts");
  EXPECT_TRUE(ends(timed, timed.stored_key(as_bytes("key"), UINT64_MAX), end, "key"));
  EXPECT_FALSE(ends(timed, timed.stored_key(as_bytes("key"), 7), end, "key")) << "later versions precede it";
}

TEST(RangeDeletionsTest, TimestampsAreNoPartOfTheRange) {
  const KeyOrder order = KeyOrder::of("leveldb.BytewiseComparator.u64ts");
  RangeDeletions deletions;
  deletions.add({order.stored_key(as_bytes("b"), 20), order.stored_key(as_bytes("d"), 20), 7});
  deletions.finish(order);
  EXPECT_EQ(deletions.newest_over(as_bytes("c"), {}), 7u);
  EXPECT_EQ(deletions.newest_over(as_bytes("c"), {kNewest, 19}), std::nullopt);
  EXPECT_EQ(deletions.newest_over(as_bytes("c"), {kNewest, 20}), 7u);
  EXPECT_EQ(deletions.newest_over(as_bytes("d"), {}), std::nullopt);
}

TEST(KeyOrderTest, KeyTooShortForATimestampFollowsTheSameTextWithOne) {
  const KeyOrder order = KeyOrder::of("leveldb.BytewiseComparator.u64ts");
  const std::string timed = "b" + std::string(8, '\0');
  EXPECT_TRUE(order.is_before(as_bytes(timed), as_bytes("b")));
  EXPECT_TRUE(order.is_before(as_bytes(timed), as_bytes("ba")));
  EXPECT_TRUE(order.is_before(as_bytes("b"), as_bytes("ba")));
  EXPECT_TRUE(order.is_before(as_bytes("a"), as_bytes(timed)));
}

TEST(RangeDeletionsTest, NewestDeletionOverAKeyIsFound) {
  RangeDeletions deletions;
  for (int i = 0; i < 50; ++i) {
    deletions.add({"k" + std::to_string(10 + i), "k" + std::to_string(20 + i), static_cast<std::uint64_t>(100 - i)});
  }
  deletions.finish({});
  EXPECT_EQ(deletions.newest_over(as_bytes("k15"), UINT64_MAX), 100u);
  EXPECT_EQ(deletions.newest_over(as_bytes("k15"), 97), 97u);
  EXPECT_EQ(deletions.newest_over(as_bytes("k15"), 94), std::nullopt);
  EXPECT_EQ(deletions.newest_over(as_bytes("k68"), UINT64_MAX), 51u);
  EXPECT_EQ(deletions.newest_over(as_bytes("k69"), UINT64_MAX), std::nullopt);
  EXPECT_EQ(deletions.newest_over(as_bytes("k09"), UINT64_MAX), std::nullopt);
}

TEST(RangeDeletionsTest, NestedDeletionsAnswerAsTheNewestOfAllThatContainTheKey) {
  constexpr std::uint64_t kDeletions = 40;
  const auto key = [](std::uint64_t number) { return "k" + std::to_string(1000 + number); };
  RangeDeletions deletions;
  for (std::uint64_t i = 0; i < kDeletions; ++i)
    deletions.add({key(i), key(2 * kDeletions - i), i * 7 % kDeletions + 1});
  deletions.finish({});
  for (const std::uint64_t at : {UINT64_MAX, std::uint64_t{25}, std::uint64_t{1}}) {
    for (std::uint64_t place = 0; place <= 2 * kDeletions; ++place) {
      std::optional<std::uint64_t> newest;
      deletions.for_each_over(as_bytes(key(place)), [&](const RangeDeletion& deletion) {
        if (deletion.sequence <= at) newest = std::max(newest, std::optional(deletion.sequence));
      });
      EXPECT_EQ(deletions.newest_over(as_bytes(key(place)), at), newest) << place << " at " << at;
    }
  }
}

TEST(RangeDeletionsTest, ManyKeysInManyNestedDeletionsTakeNoQuadraticTime) {
  constexpr std::uint64_t kDeletions = 200'000;
  const auto key = [](std::uint64_t number) { return "k" + std::to_string(10'000'000 + number); };
  RangeDeletions deletions;
  for (std::uint64_t i = 0; i < kDeletions; ++i) deletions.add({key(i), key(2 * kDeletions - i), i + 1});
  deletions.finish({});
  for (std::uint64_t i = 0; i < kDeletions; ++i) {
    ASSERT_EQ(deletions.newest_over(as_bytes(key(i)), UINT64_MAX), i + 1);
  }
}

TEST(MemoryBudgetTest, OnlyWhatExceedsTheUsualMemoryCounts) {
  const auto budget = std::make_shared<MemoryBudget>(100);
  const auto first = MemoryBudget::take(budget, 1000, 950);
  ASSERT_TRUE(first);
  EXPECT_TRUE(MemoryBudget::take(budget, 1 << 20, 1 << 20));
  EXPECT_TRUE(MemoryBudget::take(budget, 50, 0));
  const auto more = MemoryBudget::take(budget, 51, 0);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kLimit);
}

TEST(MemoryBudgetTest, OneShareMayExceedTheBudgetAlone) {
  const auto budget = std::make_shared<MemoryBudget>(100);
  {
    const auto large = MemoryBudget::take(budget, 1000, 0);
    ASSERT_TRUE(large);
    EXPECT_FALSE(MemoryBudget::take(budget, 1, 0));
  }
  EXPECT_TRUE(MemoryBudget::take(budget, 1, 0));
}

TableFile table(std::uint64_t number, const std::string& smallest, const std::string& largest) {
  return {.number = number, .smallest = smallest + std::string(8, '\1'), .largest = largest + std::string(8, '\1')};
}

TEST(RunsTest, OverlappingTablesAreInDifferentRunsWhateverTheirLevel) {
  const std::vector<TableFile> tables = {table(1, "a", "c"), table(2, "d", "f"), table(3, "b", "e"),
                                         table(4, "g", "h")};
  std::vector<const TableFile*> all;
  for (const TableFile& file : tables) all.push_back(&file);
  const auto runs = runs_of(all, {});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].tables.size() + runs[1].tables.size(), 4u);
  for (const auto& run : runs) {
    for (std::size_t i = 1; i < run.tables.size(); ++i) EXPECT_LT(run.tables[i - 1]->largest, run.tables[i]->smallest);
  }
}

TEST(FileNameTest, OnlyNamesOfTheDatabaseHaveAKind) {
  EXPECT_EQ(parse_file_name("CURRENT").kind, FileKind::kCurrent);
  EXPECT_EQ(parse_file_name("MANIFEST-000012").number, 12u);
  EXPECT_EQ(parse_file_name("000005.ldb").kind, FileKind::kTable);
  EXPECT_EQ(parse_file_name("000005.sst").kind, FileKind::kTable);
  EXPECT_EQ(parse_file_name("000005.blob").kind, FileKind::kBlob);
  for (const char* name : {"LOG", "x.log", "000005.log.old", "MANIFEST-", "99999999999999999999.ldb", ".ldb"}) {
    EXPECT_EQ(parse_file_name(name).kind, FileKind::kOther) << name;
  }
}

}  // namespace
}  // namespace recordfs::database
