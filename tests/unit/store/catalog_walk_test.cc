// The catalog's thread: its waiters, what stops it, and how it continues.
#include <atomic>
#include <new>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

// A scan that stops before chunk `held`.
struct HeldWalk {
  explicit HeldWalk(std::size_t held, const toy::Shape& shape = {.chunks = 6})
      : file(toy::make_file(shape)), source(std::make_shared<MoodySource>(file.bytes)) {
    watch->on_scan = [this](Position begin) { gate.pass(begin); };
    gate.close_from(file.begins[held]);
    container = toy::open(source, Limits{}, watch).value();
    catalog = std::make_unique<Catalog>(*container, *source, Depth::kCounts, Catalog::Bounds{});
  }
  ~HeldWalk() { gate.open(); }

  Result<Place> find(std::uint64_t ordinal) {
    Goal goal;
    return catalog->find(Coordinate::kRecords, ordinal, goal);
  }
  std::uint64_t wait(std::uint64_t ordinal, std::function<void()> resume) {
    return catalog->wait({catalog.get(), Coordinate::kRecords, ordinal}, std::move(resume));
  }

  toy::File file;
  std::shared_ptr<MoodySource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Gate gate;
  std::unique_ptr<Container> container;
  std::unique_ptr<Catalog> catalog;
};

TEST(CatalogWalk, NothingIsScannedWithoutAWaiter) {
  HeldWalk walk(0);
  EXPECT_EQ(walk.find(0).error().code, Code::kPending);
  EXPECT_EQ(walk.watch->scans, 0u);
  EXPECT_EQ(walk.catalog->state().totals.chunks, 0u);
}

TEST(CatalogWalk, WaitersAreResumedOnceTheirGoalIsReached) {
  HeldWalk walk(0);
  const Signal before;
  const Signal behind;
  std::atomic<bool> behind_called{false};
  ASSERT_NE(walk.wait(9, [&behind_called, behind] { behind_called = true, behind.set(); }), 0u);  // in chunk 3
  ASSERT_NE(walk.wait(8, [before] { before.set(); }), 0u);                                        // the last of chunk 2
  walk.gate.close_from(walk.file.begins[3]);
  before.wait();
  EXPECT_FALSE(behind_called);
  EXPECT_EQ(walk.find(8)->chunk.begin, walk.file.begins[2]);
  EXPECT_EQ(walk.find(9).error().code, Code::kPending);
  EXPECT_EQ(walk.catalog->state().totals.records, 9u);
  EXPECT_FALSE(walk.catalog->state().complete);
  walk.gate.close_from(walk.file.begins[4]);
  behind.wait();
  EXPECT_EQ(walk.find(9)->chunk.begin, walk.file.begins[3]);
}

TEST(CatalogWalk, TotalsAndDamageWaitForTheEnd) {
  HeldWalk walk(5);
  walk.catalog->start();
  walk.gate.wait_until_held();
  Goal goal;
  EXPECT_EQ(walk.catalog->totals(goal).error().code, Code::kPending);
  EXPECT_EQ(goal.value, kEverything);
  EXPECT_EQ(walk.catalog->damage(goal).error().code, Code::kPending);
  walk.gate.open();
  EXPECT_EQ(waited([&](Goal& again) { return walk.catalog->totals(again); })->records, 18u);
}

TEST(CatalogWalk, GoalAfterTheEndIsNotFoundInsteadOfPending) {
  HeldWalk walk(5);
  const Signal resumed;
  ASSERT_NE(walk.wait(1000, [resumed] { resumed.set(); }), 0u);
  walk.gate.open();
  resumed.wait();
  EXPECT_EQ(walk.find(1000).error().code, Code::kNotFound);
}

TEST(CatalogWalk, ReachedGoalDoesNotWait) {
  HeldWalk walk(3);
  walk.catalog->start();
  walk.gate.wait_until_held();
  EXPECT_EQ(walk.wait(0, [] { ADD_FAILURE() << "called"; }), 0u);
}

TEST(CatalogWalk, CancelledWaiterIsNeverResumed) {
  HeldWalk walk(2);
  const std::uint64_t ticket = walk.wait(6, [] { ADD_FAILURE() << "called"; });
  ASSERT_NE(ticket, 0u);
  walk.gate.wait_until_held();
  EXPECT_TRUE(walk.catalog->cancel(ticket));
  EXPECT_FALSE(walk.catalog->cancel(ticket));
  walk.gate.open();
  EXPECT_TRUE(waited([&](Goal& goal) { return walk.catalog->totals(goal); }));
}

TEST(CatalogWalk, CancelAfterTheResumeReturnsFalse) {
  HeldWalk walk(2);
  const Signal resumed;
  const std::uint64_t ticket = walk.wait(0, [resumed] { resumed.set(); });
  resumed.wait();
  EXPECT_FALSE(walk.catalog->cancel(ticket));
}

TEST(CatalogWalk, DestructionResumesAndFreesAllWaiters) {
  HeldWalk walk(2);
  const auto token = std::make_shared<std::atomic<int>>(0);
  for (std::uint64_t ordinal = 6; ordinal < 18; ++ordinal) {
    ASSERT_NE(walk.wait(ordinal, [token] { ++*token; }), 0u);
  }
  walk.gate.wait_until_held();
  std::thread destroyer([&] { walk.catalog.reset(); });
  walk.gate.open();
  destroyer.join();
  EXPECT_EQ(token->load(), 12);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(CatalogWalk, DestructionStopsARunningScan) {
  HeldWalk walk(1, {.chunks = 5000, .records_per_chunk = 1});
  walk.watch->on_scan = [&](Position begin) {
    walk.gate.pass(begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  walk.catalog->start();
  walk.gate.wait_until_held();
  std::thread destroyer([&] { walk.catalog.reset(); });
  walk.gate.open();
  destroyer.join();
  EXPECT_LT(walk.watch->scans, 5000u);
}

TEST(CatalogWalk, ScanResumesAtTheSamePositionAfterAFailure) {
  HeldWalk walk(3);
  walk.catalog->start();
  walk.gate.wait_until_held();
  walk.source->fail(1, bad_sector());
  const Signal resumed;
  ASSERT_NE(walk.wait(9, [resumed] { resumed.set(); }), 0u);
  walk.gate.open();
  resumed.wait();
  EXPECT_EQ(walk.find(8)->chunk.begin, walk.file.begins[2]);
  const auto failed = walk.find(9);
  EXPECT_EQ(failed.error().code, Code::kIo);
  EXPECT_EQ(failed.error().os_error, 5);
  const auto place = waited([&](Goal& goal) { return walk.catalog->find(Coordinate::kRecords, 9, goal); });
  EXPECT_EQ(place.value().chunk.begin, walk.file.begins[3]);
  EXPECT_EQ(place->before.records, 9u);
  EXPECT_EQ(waited([&](Goal& goal) { return walk.catalog->totals(goal); })->records, 18u);
  EXPECT_EQ(walk.watch->scans, 7u);  // one for each chunk, and the failed one
}

TEST(CatalogWalk, PermanentFailureIsReportedToEveryCaller) {
  HeldWalk walk(3);
  walk.catalog->start();
  walk.gate.wait_until_held();
  walk.source->fail(1000, bad_sector());
  walk.gate.open();
  for (int i = 0; i < 5; ++i) {
    const auto place = waited([&](Goal& goal) { return walk.catalog->find(Coordinate::kRecords, 9, goal); });
    EXPECT_EQ(place.error().code, Code::kIo);
  }
}

TEST(CatalogWalk, TemporaryLayoutFailureIsNotDamage) {
  HeldWalk walk(3, {.chunks = 6, .counts_in_header = false});
  walk.watch->on_layout = [&](Position begin) {
    if (begin == walk.file.begins[1] && walk.watch->layouts == 2) walk.source->fail(1, bad_sector());
  };
  walk.gate.open();
  const auto failed = waited([&](Goal& goal) { return walk.catalog->totals(goal); });
  EXPECT_EQ(failed.error().code, Code::kIo);
  EXPECT_EQ(waited([&](Goal& goal) { return walk.catalog->totals(goal); })->records, 18u);
  EXPECT_TRUE(waited([&](Goal& goal) { return walk.catalog->damage(goal); }).value()->empty());
}

TEST(CatalogWalk, OutOfMemoryIsAFailureAndDoesNotEndTheProcess) {
  HeldWalk walk(3);
  std::atomic<bool> thrown{false};
  walk.watch->on_scan = [&](Position) {
    if (!thrown.exchange(true)) throw std::bad_alloc();
  };
  const auto failed = waited([&](Goal& goal) { return walk.catalog->totals(goal); });
  EXPECT_EQ(failed.error().code, Code::kOutOfMemory);
  EXPECT_EQ(waited([&](Goal& goal) { return walk.catalog->totals(goal); })->records, 18u);
}

}  // namespace
}  // namespace recordfs::testing
