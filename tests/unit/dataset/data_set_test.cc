// A data set of toy files.
#include "core/dataset/data_set.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

// A set of toy files, by path. Counts how often each is opened, and can make opening fail.
struct ToySet {
  explicit ToySet(const std::vector<std::uint64_t>& records, DataSet::Bounds wanted = {}) : bounds(wanted) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      add("shard-" + std::to_string(i), {.chunks = records[i], .records_per_chunk = 1});
    }
  }

  void add(const std::string& path, const toy::Shape& shape) {
    files[path] = toy::make_file(shape).bytes;
    list.shards.push_back({path});
  }

  // Appends shards with so many records.
  void append(const std::vector<std::uint64_t>& records, const RequestContext& context = {}) {
    std::vector<Shard> more;
    for (const std::uint64_t number : records) {
      more.push_back({"shard-" + std::to_string(set().size() + more.size())});
      const std::lock_guard lock(mutex);
      files[more.back().path] = toy::make_file({.chunks = number, .records_per_chunk = 1}).bytes;
    }
    set().append(context, std::move(more));
  }

  DataSet& set() {
    if (!made) made = std::make_unique<DataSet>(list, opener(), bounds, known);
    return *made;
  }

  OpenShard opener() {
    return
        [this](const RequestContext&, std::size_t, const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
          const std::lock_guard lock(mutex);
          ++opened[shard.path];
          if (const auto failure = failures.find(shard.path); failure != failures.end()) return failure->second;
          const auto source = std::make_shared<ChangeableSource>(files.at(shard.path));
          auto container = toy::open(source, Limits{}, watch);
          if (!container) return std::move(container).error();
          return std::shared_ptr<const RecordStore>(
              std::make_shared<RecordStore>(shard.path, source, std::move(*container), services));
        };
  }

  std::size_t opened_shards() {
    const std::lock_guard lock(mutex);
    return opened.size();
  }

  DataSet::Bounds bounds;
  KnownCounts known{};
  Lines lines;
  StoreResources services{64u << 20, 2, lines.log()};
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  std::map<std::string, std::string> files;
  ShardList list;
  std::mutex mutex;  // guards the next two, and files after the first use of set()
  std::map<std::string, Error> failures;
  std::map<std::string, int> opened;
  std::unique_ptr<DataSet> made;
};

RecordInShard located(DataSet& set, std::uint64_t ordinal) {
  return waited([&] { return set.locate(ordinal); }).value();
}

TEST(DataSetTest, OrdinalsRunThroughTheShards) {
  ToySet toys({3, 1, 4});
  EXPECT_EQ(located(toys.set(), 0), (RecordInShard{0, 0}));
  EXPECT_EQ(located(toys.set(), 2), (RecordInShard{0, 2}));
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{1, 0}));
  EXPECT_EQ(located(toys.set(), 4), (RecordInShard{2, 0}));
  EXPECT_EQ(located(toys.set(), 7), (RecordInShard{2, 3}));
  EXPECT_EQ(waited([&] { return toys.set().locate(8); }).error().code, Code::kNotFound);
}

TEST(DataSetTest, EmptyShardsHaveNoOrdinals) {
  ToySet toys({0, 2, 0, 0, 1, 0});
  EXPECT_EQ(located(toys.set(), 0), (RecordInShard{1, 0}));
  EXPECT_EQ(located(toys.set(), 1), (RecordInShard{1, 1}));
  EXPECT_EQ(located(toys.set(), 2), (RecordInShard{4, 0}));
  EXPECT_FALSE(waited([&] { return toys.set().locate(3); }));
}

TEST(DataSetTest, NothingIsOpenedBeforeItIsNeeded) {
  ToySet toys({3, 1, 4});
  EXPECT_EQ(toys.set().size(), 3u);
  EXPECT_EQ(toys.set().locate(5).error().code, Code::kPending);
  EXPECT_EQ(toys.opened_shards(), 0u);
  ASSERT_TRUE(toys.set().open({}, 2));
  EXPECT_EQ(toys.opened_shards(), 1u);
}

TEST(DataSetTest, CountingStopsAfterTheShardThatIsNeeded) {
  ToySet toys(std::vector<std::uint64_t>(100, 10), {.threads = 2});
  EXPECT_EQ(located(toys.set(), 35), (RecordInShard{3, 5}));
  toys.made.reset();
  EXPECT_LE(toys.opened_shards(), 8u);
}

TEST(DataSetTest, ShardsOfKnownCountsAreNotOpenedToBeCounted) {
  ToySet toys({3, 1, 4, 2});
  toys.list.shards[1].is_missing = true;
  toys.known = [](const RequestContext&, std::size_t number, const Shard& shard,
                  ScanDetail detail) -> std::optional<ShardCounts> {
    EXPECT_NE(number, 1u);
    EXPECT_EQ(detail, ScanDetail::kCounts);
    if (shard.path == "shard-2") return std::nullopt;
    return ShardCounts{.records = number + 2, .chunks = 1, .stored = 10, .format = "known"};
  };
  EXPECT_EQ(located(toys.set(), 7), (RecordInShard{3, 1}));
  EXPECT_EQ(toys.opened, (std::map<std::string, int>{{"shard-2", 1}}));
  const auto totals = waited([&] { return toys.set().totals(); });
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->records, 2u + 0u + 4u + 5u);
  EXPECT_EQ(totals->unopened, 1u);
  EXPECT_EQ(toys.set().counts(3)->first_ordinal, 6u);
  EXPECT_EQ(toys.set().counts(3)->format, "known");
}

TEST(DataSetTest, CountingContinuesWhereItStopped) {
  ToySet toys(std::vector<std::uint64_t>(20, 10), {.threads = 1});
  EXPECT_EQ(located(toys.set(), 35).shard, 3u);
  EXPECT_EQ(located(toys.set(), 199).shard, 19u);
  for (const auto& [path, times] : toys.opened) EXPECT_EQ(times, 1) << path;
}

TEST(DataSetTest, FewShardsStayOpen) {
  ToySet toys(std::vector<std::uint64_t>(20, 1), {.open_shards = 4});
  const auto first = toys.set().open({}, 0).value();
  for (std::size_t i = 0; i < 20; ++i) ASSERT_TRUE(toys.set().open({}, i));
  EXPECT_EQ(first->name(), "shard-0");  // in use, so it is still valid
  EXPECT_TRUE(waited([&] { return first->index().totals(ScanDetail::kCounts); }));
  ASSERT_TRUE(toys.set().open({}, 19));
  EXPECT_EQ(toys.opened["shard-19"], 1);
  ASSERT_TRUE(toys.set().open({}, 1));
  EXPECT_EQ(toys.opened["shard-1"], 2);
}

TEST(DataSetTest, MissingShardKeepsItsNumberAndHasNoRecords) {
  ToySet toys({3, 1, 4});
  toys.list.shards[1].is_missing = true;
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{2, 0}));
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->unopened, 1u);
  EXPECT_EQ(toys.set().failure(1)->detail, "shard-1: this shard is missing");
  EXPECT_EQ(toys.set().open({}, 1).error().code, Code::kDamage);
  EXPECT_EQ(toys.set().failure(0), std::nullopt);
  EXPECT_EQ(toys.opened.count("shard-1"), 0u);
}

TEST(DataSetTest, ShardThatIsNoContainerHasNoRecords) {
  ToySet toys({3, 1, 4});
  toys.files["shard-1"] = "something else";
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{2, 0}));
  EXPECT_EQ(toys.set().failure(1)->code, Code::kNoContainer);
  EXPECT_EQ(toys.set().counts(1)->format, "");
}

TEST(DataSetTest, DamageInAShardIsCounted) {
  ToySet toys({3});
  toys.add("damaged", {.chunks = 5, .records_per_chunk = 2, .broken_headers = {1}});
  toys.add("last", {.chunks = 1, .records_per_chunk = 1});
  const auto totals = waited([&] { return toys.set().totals(); });
  EXPECT_EQ(totals->damaged_regions, 1u);
  EXPECT_EQ(totals->records, 3u + 8 + 1);
  EXPECT_EQ(toys.set().counts(1)->damaged_regions, 1u);
}

TEST(DataSetTest, FailureThatMayPassIsRetried) {
  ToySet toys({3, 1, 4});
  toys.failures["shard-1"] = bad_sector();
  const auto failed = waited([&] { return toys.set().locate(5); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kIo);
  EXPECT_EQ(failed.error().detail, "shard-1: byte 0: bad sector");
  EXPECT_EQ(located(toys.set(), 2), (RecordInShard{0, 2}));
  {
    const std::lock_guard lock(toys.mutex);
    toys.failures.clear();
  }
  EXPECT_EQ(located(toys.set(), 5), (RecordInShard{2, 1}));
}

TEST(DataSetTest, AllFailuresCanBeSkipped) {
  ToySet toys({3, 1, 4}, {.skips_all_failures = true});
  toys.failures["shard-1"] = bad_sector();
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{2, 0}));
  EXPECT_EQ(toys.set().failure(1)->code, Code::kIo);
}

TEST(DataSetTest, ShardsAreFoundByNamePathAndNumber) {
  ToySet toys({});
  for (const std::string path : {"a/x", "a/y", "b/y", "b/2", "c/7"}) toys.add(path, {});
  const DataSet& set = toys.set();
  EXPECT_EQ(set.name(0), "x");
  EXPECT_EQ(set.name(1), "a/y");
  EXPECT_EQ(set.find_shard("x"), 0u);
  EXPECT_EQ(set.find_shard("a/x"), 0u);
  EXPECT_EQ(set.find_shard("y"), std::nullopt);
  EXPECT_EQ(set.find_shard("b/y"), 2u);
  EXPECT_EQ(set.find_shard("2"), 3u);  // a name comes before a number
  EXPECT_EQ(set.find_shard("4"), 4u);
  EXPECT_EQ(set.find_shard("5"), std::nullopt);
  EXPECT_EQ(set.find_shard(""), std::nullopt);
  EXPECT_EQ(set.find_shard("-1"), std::nullopt);
  for (std::size_t i = 0; i < set.size(); ++i) EXPECT_EQ(set.find_shard(set.name(i)), i);
}

TEST(DataSetTest, ManyThreadsAgree) {
  ToySet toys(std::vector<std::uint64_t>(50, 7), {.open_shards = 3, .threads = 4});
  toys.set();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = t; i < 350; i += 8) {
        if (located(toys.set(), i) != RecordInShard{i / 7, i % 7}) ++wrong;
        if (!toys.set().open({}, i / 7)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DataSetTest, AppendedShardsFollowTheOthers) {
  ToySet toys({3, 1});
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{1, 0}));
  const Shard& first = toys.set().shard(0);
  const std::string_view name = toys.set().name(0);
  toys.append({2, 4});
  EXPECT_EQ(toys.set().size(), 4u);
  EXPECT_EQ(located(toys.set(), 3), (RecordInShard{1, 0}));
  EXPECT_EQ(located(toys.set(), 4), (RecordInShard{2, 0}));
  EXPECT_EQ(located(toys.set(), 9), (RecordInShard{3, 3}));
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->records, 10u);
  EXPECT_EQ(&toys.set().shard(0), &first);
  EXPECT_EQ(name, "shard-0");
  EXPECT_EQ(toys.set().find_shard("shard-3"), 3u);
  EXPECT_EQ(toys.set().find_shard("4"), std::nullopt);
}

TEST(DataSetTest, AppendedShardsAreCountedBeforeTheyAreVisibleIfAllOthersAre) {
  ToySet toys({3, 1});
  ASSERT_TRUE(waited([&] { return toys.set().totals(); }));
  toys.append({2, 4});
  ASSERT_TRUE(toys.set().totals());
  EXPECT_EQ(toys.set().totals()->records, 10u);
  EXPECT_EQ(toys.set().locate(9).value(), (RecordInShard{3, 3}));
  EXPECT_EQ(toys.set().locate(10).error().code, Code::kNotFound);
  EXPECT_EQ(toys.set().progress().all, 4u);
}

TEST(DataSetTest, AppendedShardsAreNotOpenedIfOthersAreNotCounted) {
  ToySet toys({3, 1});
  toys.append({2, 4});
  EXPECT_EQ(toys.opened_shards(), 0u);
  EXPECT_EQ(toys.set().progress().shards, 0u);
  EXPECT_TRUE(is_waiting(toys.set().totals().error()));
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->records, 10u);
}

TEST(DataSetTest, CancelledAppendLeavesTheShardsToBeCountedLater) {
  ToySet toys({3, 1}, {.threads = 1});
  ASSERT_TRUE(waited([&] { return toys.set().totals(); }));
  Gate gate;
  gate.close_from(0);
  toys.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  std::atomic<bool> cancelled{false};
  std::thread appending([&] { toys.append({2}, RequestContext(cancelled)); });
  gate.wait_until_held();
  EXPECT_EQ(toys.set().size(), 2u);
  cancelled = true;
  appending.join();
  gate.open();
  EXPECT_EQ(toys.set().size(), 3u);
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->records, 6u);
}

TEST(DataSetTest, AppendedShardThatCannotBeOpenedHasNoRecords) {
  ToySet toys({3});
  ASSERT_TRUE(waited([&] { return toys.set().totals(); }));
  toys.failures["shard-1"] = {.code = Code::kDamage, .detail = "torn"};
  toys.failures["shard-3"] = bad_sector();
  toys.append({2, 1, 5, 1});
  EXPECT_EQ(toys.set().failure(1)->detail, "torn");
  EXPECT_EQ(toys.set().locate(3).value(), (RecordInShard{2, 0}));
  EXPECT_EQ(waited([&] { return toys.set().totals(); }).error().code, Code::kIo);
  {
    const std::lock_guard lock(toys.mutex);
    toys.failures.erase("shard-3");
  }
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->records, 10u);
}

TEST(DataSetTest, NameOfAnAppendedShardMakesThatOfAnotherItsPath) {
  ToySet toys({});
  toys.add("a/x", {});
  EXPECT_EQ(toys.set().name(0), "x");
  toys.set().append({}, {{"b/x"}});
  EXPECT_EQ(toys.set().name(0), "a/x");
  EXPECT_EQ(toys.set().name(1), "b/x");
  EXPECT_EQ(toys.set().find_shard("x"), std::nullopt);
}

TEST(DataSetTest, ReadersSeeTheSameWhileShardsAreAppended) {
  constexpr std::uint64_t kShards = 120;
  ToySet toys(std::vector<std::uint64_t>(4, 3), {.open_shards = 3, .threads = 4});
  toys.set();
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (std::uint64_t reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      for (std::uint64_t i = reader; !is_over; ++i) {
        DataSet& set = toys.set();
        const std::uint64_t shards = set.size();
        const std::uint64_t ordinal = i * 7 % (shards * 3);
        if (located(set, ordinal) != RecordInShard{ordinal / 3, ordinal % 3}) ++wrong;
        const auto shard = static_cast<std::size_t>(i % shards);
        if (set.shard(shard).path != "shard-" + std::to_string(shard)) ++wrong;
        if (set.name(shard) != set.shard(shard).path || set.find_shard(set.name(shard)) != shard) ++wrong;
        if (reader == 0 && waited([&] { return set.totals(); })->records < shards * 3) ++wrong;
        const DataSet::Progress progress = set.progress();
        if (progress.totals.records != progress.shards * 3 || progress.shards > progress.all) ++wrong;
      }
    });
  }
  while (toys.set().size() < kShards) toys.append(std::vector<std::uint64_t>(1 + toys.set().size() % 3, 3));
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(waited([&] { return toys.set().totals(); })->records, toys.set().size() * 3);
}

TEST(DataSetTest, DestructorCancelsACount) {
  ToySet toys({5, 5}, {.threads = 2});
  Gate gate;
  gate.close_from(0);
  toys.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  const auto pending = toys.set().totals();
  ASSERT_TRUE(is_waiting(pending.error()));
  pending.error().wait->waitable->wait(*pending.error().wait, [] {});
  gate.wait_until_held();
  std::thread opener([&] { gate.open(); });
  toys.made.reset();
  opener.join();
}

}  // namespace
}  // namespace recordfs::testing
