#include "core/dataset/splits.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

std::vector<ContainerSplit> splits_of(const ToyStore& toy, SplitSize size) {
  std::vector<ContainerSplit> splits;
  EXPECT_TRUE(for_each_split({}, *toy.store, size, [&](const ContainerSplit& split) {
    splits.push_back(split);
    return true;
  }));
  return splits;
}

std::vector<ContainerSplit> by_records(const ToyStore& toy, std::uint64_t records) {
  return splits_of(toy, {.amount = records, .unit = SplitSize::Unit::kRecords});
}

void expect_cover(const std::vector<ContainerSplit>& splits, std::uint64_t size) {
  Position end = 0;
  for (const ContainerSplit& split : splits) {
    EXPECT_EQ(split.begin, end);
    EXPECT_LT(split.begin, split.end);
    end = split.end;
  }
  EXPECT_EQ(end, size);
}

std::vector<std::uint64_t> records_of(const std::vector<ContainerSplit>& splits) {
  std::vector<std::uint64_t> records;
  for (const ContainerSplit& split : splits) records.push_back(split.records.value_or(UINT64_MAX));
  return records;
}

using Numbers = std::vector<std::uint64_t>;

TEST(Split, EitherPositionMayBeOmitted) {
  EXPECT_EQ(parse_split("5:70"), (Split{5, 70}));
  EXPECT_EQ(parse_split(":70"), (Split{0, 70}));
  EXPECT_EQ(parse_split("5:"), (Split{5, UINT64_MAX}));
  EXPECT_EQ(parse_split(":"), (Split{0, UINT64_MAX}));
  EXPECT_EQ(parse_split("shard:5:70"), (Split{5, 70, "shard"}));
  EXPECT_EQ(parse_split("a:b\t5\t70"), (Split{5, 70, "a:b"}));
  EXPECT_EQ(parse_split("3::"), (Split{0, UINT64_MAX, "3"}));
  for (const char* text : {"", "5", "5:x", "x:5", "-1:5", ":1:2", "99999999999999999999:", " 1:2", "3/8"}) {
    EXPECT_EQ(parse_split(text), std::nullopt) << text;
  }
}

TEST(Split, IdOfAnyShardNameIsParsedAgain) {
  for (const char* name : {"a", "a:b", "a\tb", "1:2", "a\t1\t2x", " ", "3/8"}) {
    EXPECT_EQ(parse_split(split_id(name, 5, 70)), (Split{5, 70, name})) << name;
  }
}

TEST(SplitsByRecords, EachButTheLastHasAtLeastSoMany) {
  const ToyStore toy({.chunks = 5, .records_per_chunk = 3});
  EXPECT_EQ(records_of(by_records(toy, 1)), (Numbers{3, 3, 3, 3, 3}));
  EXPECT_EQ(records_of(by_records(toy, 3)), (Numbers{3, 3, 3, 3, 3}));
  EXPECT_EQ(records_of(by_records(toy, 4)), (Numbers{6, 6, 3}));
  EXPECT_EQ(records_of(by_records(toy, 15)), (Numbers{15}));
  EXPECT_EQ(records_of(by_records(toy, UINT64_MAX)), (Numbers{15}));
  expect_cover(by_records(toy, 4), toy.source->size());
}

TEST(SplitsByRecords, EndsWhereAChunkBegins) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto splits = by_records(toy, 5);
  ASSERT_EQ(splits.size(), 2u);
  EXPECT_EQ(splits[1].begin, toy.file.begins[2]);
}

TEST(SplitsByRecords, DamagedChunksCountWhatTheirHeadersDeclare) {
  const ToyStore toy({.chunks = 6, .records_per_chunk = 3, .broken_headers = {1}, .broken_payloads = {3}});
  const auto splits = by_records(toy, 3);
  EXPECT_EQ(records_of(splits), (Numbers{3, 3, 3, 3, 3}));
  expect_cover(splits, toy.source->size());
}

TEST(SplitsByRecords, FileWithoutRecordsIsOneSplit) {
  const ToyStore toy({.chunks = 0});
  EXPECT_EQ(records_of(by_records(toy, 10)), (Numbers{0}));
}

TEST(SplitsByRecords, UnreadableRestIsOneUncountedSplit) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  toy.source->fail(1000, bad_sector());
  std::vector<ContainerSplit> splits;
  const auto outcome = for_each_split({}, *toy.store, {.amount = 3, .unit = SplitSize::Unit::kRecords},
                                      [&](const ContainerSplit& split) {
                                        splits.push_back(split);
                                        return true;
                                      });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kIo);
  expect_cover(splits, toy.source->size());
  EXPECT_EQ(splits.back().records, std::nullopt);
}

TEST(SplitsByBytes, SmallOnesEndWhereAChunkBegins) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto splits = splits_of(toy, {.amount = 1});
  expect_cover(splits, toy.source->size());
  ASSERT_EQ(splits.size(), 5u) << "the head of the file, and each chunk";
  EXPECT_EQ(splits[2].begin, toy.file.begins[1]);
  EXPECT_EQ(splits[2].records, std::nullopt);
}

TEST(Splits, TakerCanStop) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  for (const auto unit : {SplitSize::Unit::kBytes, SplitSize::Unit::kRecords}) {
    int taken = 0;
    EXPECT_TRUE(for_each_split({}, *toy.store, {.amount = 1, .unit = unit},
                               [&](const ContainerSplit&) { return ++taken < 2; }));
    EXPECT_EQ(taken, 2);
  }
}

TEST(SetPart, IdIsParsedAgain) {
  const SetPart part{.number = 3, .count = 8};
  EXPECT_EQ(part_id(part), "3/8");
  EXPECT_EQ(parse_part("3/8"), part);
  const SetPart checked{.number = 0, .count = 1, .check = 0xabc};
  EXPECT_EQ(part_id(checked), "0/1@0000000000000abc");
  EXPECT_EQ(parse_part("0/1@0000000000000abc"), checked);
  for (const char* text :
       {"", "3", "8/8", "/8", "3/", "-1/8", "3/8@", "3/8@abc", "3/8@000000000000000g", "0/0", "3/8 "}) {
    EXPECT_EQ(parse_part(text), std::nullopt) << text;
  }
}

TEST(SetPart, PartsHaveEachByteOnce) {
  const std::vector<Numbers> sets = {{10}, {0}, {}, {1, 1, 1}, {100, 0, 7, 0, 0, 3}, {1u << 30, 5, 1u << 20}};
  for (const Numbers& sizes : sets) {
    for (const std::uint64_t count : Numbers{1, 2, 3, 7, 8, 100}) {
      std::size_t shard = 0;
      Position end = 0;  // of what the parts before have of the shard
      for (std::uint64_t number = 0; number < count; ++number) {
        std::uint64_t bytes = 0;
        for (const ShardRange& range : ranges_of({.number = number, .count = count}, sizes)) {
          while (end == sizes[shard]) {
            ++shard;
            end = 0;
          }
          EXPECT_EQ(range.shard, shard);
          EXPECT_EQ(range.begin, end);
          EXPECT_LT(range.begin, range.end);
          end = range.end;
          bytes += range.end - range.begin;
        }
        const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
        EXPECT_TRUE(bytes == total / count || bytes == total / count + 1) << number << '/' << count;
      }
      while (shard < sizes.size() && end == sizes[shard]) {
        ++shard;
        end = 0;
      }
      EXPECT_EQ(shard, sizes.size());
    }
  }
}

TEST(SetPart, SumOfTheLargestSizesDoesNotOverflow) {
  const Numbers sizes = {kLargestSum - 1, 1};
  const auto last = ranges_of({.number = UINT64_MAX - 1, .count = UINT64_MAX}, sizes);
  EXPECT_TRUE(last.empty()) << "there are more parts than bytes";
  EXPECT_EQ(ranges_of({.number = 1, .count = 2}, sizes).back(), (ShardRange{1, 0, 1}));
}

// A folder with files, and a set of them.
class ShardSizes : public ::testing::Test {
 protected:
  Shard file(const std::string& name, std::size_t size) const {
    folder_.write(name, std::string(size, 'x'));
    return {folder_ / name};
  }
  static DataSet set_of(std::vector<Shard> shards) { return DataSet(ShardList{.shards = std::move(shards)}, {}); }

  const TempFolder folder_;
};

TEST_F(ShardSizes, MissingShardIsEmpty) {
  const DataSet set = set_of({file("a", 5), {.path = folder_ / "b", .is_missing = true}, file("c", 0)});
  const auto sizes = shard_sizes(set);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(*sizes, (Numbers{5, 0, 0}));
}

TEST_F(ShardSizes, FileThatHasNoSizeFails) {
  const auto absent = shard_sizes(set_of({file("a", 5), {folder_ / "b"}}));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().detail, (folder_ / "b").string() + ": No such file or directory");
  const auto device = shard_sizes(set_of({{"/dev/null"}}));
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().detail, "/dev/null: not a regular file");
}

TEST_F(ShardSizes, CheckDependsOnNamesAndSizesAlone) {
  const DataSet set = set_of({file("a", 5), file("b", 6)});
  const std::uint64_t check = check_of(set, Numbers{5, 6});
  EXPECT_EQ(check_of(set_of({{"elsewhere/a"}, {"elsewhere/b"}}), Numbers{5, 6}), check);
  EXPECT_NE(check_of(set, Numbers{5, 7}), check);
  EXPECT_NE(check_of(set_of({{"b"}, {"a"}}), Numbers{5, 6}), check);
}

}  // namespace
}  // namespace recordfs::testing
