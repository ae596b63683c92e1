// The catalog's thread: its waiters, what stops it, and how it continues.
#include <atomic>
#include <new>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

// A scan that stops before chunk `held`.
struct HeldScan {
  explicit HeldScan(std::size_t held, const toy::Shape& shape = {.chunks = 6})
      : file(toy::make_file(shape)), source(std::make_shared<ChangeableSource>(file.bytes)) {
    watch->on_scan = [this](Position begin) { gate.pass(begin); };
    gate.close_from(file.begins[held]);
    container = toy::open(source, Limits{}, watch).value();
    catalog = std::make_unique<Catalog>(*container, *source, ScanDetail::kCounts, Catalog::Bounds{});
  }
  ~HeldScan() { gate.open(); }

  Result<IndexedChunk> find(std::uint64_t ordinal) { return catalog->find({}, SearchKey::kRecords, ordinal); }
  std::uint64_t wait(std::uint64_t ordinal, std::function<void()> resume) {
    return catalog->wait({catalog.get(), SearchKey::kRecords, ordinal}, std::move(resume));
  }

  toy::File file;
  std::shared_ptr<ChangeableSource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Gate gate;
  std::unique_ptr<Container> container;
  std::unique_ptr<Catalog> catalog;
};

TEST(CatalogScan, NothingIsScannedWithoutAWaiter) {
  HeldScan scan(0);
  EXPECT_EQ(scan.find(0).error().code, Code::kPending);
  EXPECT_EQ(scan.watch->scans, 0u);
  EXPECT_EQ(scan.catalog->state().totals.chunks, 0u);
}

TEST(CatalogScan, WaitersAreResumedOnceTheirGoalIsReached) {
  HeldScan scan(0);
  const Signal before;
  const Signal behind;
  std::atomic<bool> behind_called{false};
  ASSERT_NE(scan.wait(9, [&behind_called, behind] { behind_called = true, behind.set(); }), 0u);  // in chunk 3
  ASSERT_NE(scan.wait(8, [before] { before.set(); }), 0u);                                        // the last of chunk 2
  scan.gate.close_from(scan.file.begins[3]);
  before.wait();
  EXPECT_FALSE(behind_called);
  EXPECT_EQ(scan.find(8)->chunk.begin, scan.file.begins[2]);
  EXPECT_EQ(scan.find(9).error().code, Code::kPending);
  EXPECT_EQ(scan.catalog->state().totals.records, 9u);
  EXPECT_FALSE(scan.catalog->state().complete);
  scan.gate.close_from(scan.file.begins[4]);
  behind.wait();
  EXPECT_EQ(scan.find(9)->chunk.begin, scan.file.begins[3]);
}

TEST(CatalogScan, TotalsAndDamageWaitForTheEnd) {
  HeldScan scan(5);
  scan.catalog->start();
  scan.gate.wait_until_held();
  const auto totals = scan.catalog->totals();
  ASSERT_EQ(totals.error().code, Code::kPending);
  EXPECT_EQ(totals.error().wait->value, kEverything);
  EXPECT_EQ(scan.catalog->damage().error().code, Code::kPending);
  scan.gate.open();
  EXPECT_EQ(waited([&] { return scan.catalog->totals(); })->records, 18u);
}

TEST(CatalogScan, GoalAfterTheEndIsNotFoundInsteadOfPending) {
  HeldScan scan(5);
  const Signal resumed;
  ASSERT_NE(scan.wait(1000, [resumed] { resumed.set(); }), 0u);
  scan.gate.open();
  resumed.wait();
  EXPECT_EQ(scan.find(1000).error().code, Code::kNotFound);
}

TEST(CatalogScan, ReachedGoalDoesNotWait) {
  HeldScan scan(3);
  scan.catalog->start();
  scan.gate.wait_until_held();
  EXPECT_EQ(scan.wait(0, [] { ADD_FAILURE() << "called"; }), 0u);
}

TEST(CatalogScan, CancelledWaiterIsNeverResumed) {
  HeldScan scan(2);
  const std::uint64_t wait_id = scan.wait(6, [] { ADD_FAILURE() << "called"; });
  ASSERT_NE(wait_id, 0u);
  scan.gate.wait_until_held();
  EXPECT_TRUE(scan.catalog->cancel(wait_id));
  EXPECT_FALSE(scan.catalog->cancel(wait_id));
  scan.gate.open();
  EXPECT_TRUE(waited([&] { return scan.catalog->totals(); }));
}

TEST(CatalogScan, CancelAfterTheResumeReturnsFalse) {
  HeldScan scan(2);
  const Signal resumed;
  const std::uint64_t wait_id = scan.wait(0, [resumed] { resumed.set(); });
  resumed.wait();
  EXPECT_FALSE(scan.catalog->cancel(wait_id));
}

TEST(CatalogScan, DestructionResumesAndFreesAllWaiters) {
  HeldScan scan(2);
  const auto token = std::make_shared<std::atomic<int>>(0);
  for (std::uint64_t ordinal = 6; ordinal < 18; ++ordinal) {
    ASSERT_NE(scan.wait(ordinal, [token] { ++*token; }), 0u);
  }
  scan.gate.wait_until_held();
  std::thread destroyer([&] { scan.catalog.reset(); });
  scan.gate.open();
  destroyer.join();
  EXPECT_EQ(token->load(), 12);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(CatalogScan, DestructionStopsARunningScan) {
  HeldScan scan(1, {.chunks = 5000, .records_per_chunk = 1});
  scan.watch->on_scan = [&](Position begin) {
    scan.gate.pass(begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  scan.catalog->start();
  scan.gate.wait_until_held();
  std::thread destroyer([&] { scan.catalog.reset(); });
  scan.gate.open();
  destroyer.join();
  EXPECT_LT(scan.watch->scans, 5000u);
}

TEST(CatalogScan, ScanResumesAtTheSamePositionAfterAFailure) {
  HeldScan scan(3);
  scan.catalog->start();
  scan.gate.wait_until_held();
  scan.source->fail(1, bad_sector());
  const Signal resumed;
  ASSERT_NE(scan.wait(9, [resumed] { resumed.set(); }), 0u);
  scan.gate.open();
  resumed.wait();
  EXPECT_EQ(scan.find(8)->chunk.begin, scan.file.begins[2]);
  const auto failed = scan.find(9);
  EXPECT_EQ(failed.error().code, Code::kIo);
  EXPECT_EQ(failed.error().os_error, 5);
  const auto indexed = waited([&] { return scan.catalog->find({}, SearchKey::kRecords, 9); });
  EXPECT_EQ(indexed.value().chunk.begin, scan.file.begins[3]);
  EXPECT_EQ(indexed->before.records, 9u);
  EXPECT_EQ(waited([&] { return scan.catalog->totals(); })->records, 18u);
  EXPECT_EQ(scan.watch->scans, 7u);  // one for each chunk, and the failed one
}

TEST(CatalogScan, PermanentFailureIsReportedToEveryCaller) {
  HeldScan scan(3);
  scan.catalog->start();
  scan.gate.wait_until_held();
  scan.source->fail(1000, bad_sector());
  scan.gate.open();
  for (int i = 0; i < 5; ++i) {
    const auto indexed = waited([&] { return scan.catalog->find({}, SearchKey::kRecords, 9); });
    EXPECT_EQ(indexed.error().code, Code::kIo);
  }
}

TEST(CatalogScan, TemporaryLayoutFailureIsNotDamage) {
  HeldScan scan(3, {.chunks = 6, .counts_in_header = false});
  scan.watch->on_layout = [&](const RequestContext&, Position begin) {
    if (begin == scan.file.begins[1] && scan.watch->layouts == 2) scan.source->fail(1, bad_sector());
  };
  scan.gate.open();
  const auto failed = waited([&] { return scan.catalog->totals(); });
  EXPECT_EQ(failed.error().code, Code::kIo);
  EXPECT_EQ(waited([&] { return scan.catalog->totals(); })->records, 18u);
  EXPECT_TRUE(waited([&] { return scan.catalog->damage(); }).value()->empty());
}

TEST(CatalogScan, OutOfMemoryIsAFailureAndDoesNotEndTheProcess) {
  HeldScan scan(3);
  std::atomic<bool> thrown{false};
  scan.watch->on_scan = [&](Position) {
    if (!thrown.exchange(true)) throw std::bad_alloc();
  };
  const auto failed = waited([&] { return scan.catalog->totals(); });
  EXPECT_EQ(failed.error().code, Code::kOutOfMemory);
  EXPECT_EQ(waited([&] { return scan.catalog->totals(); })->records, 18u);
}

}  // namespace
}  // namespace recordfs::testing
