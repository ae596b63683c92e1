// Scans of remote sources.
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "core/store/catalog.h"
#include "core/store/wait_ticket.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr std::uint64_t kPerRead = 1u << 20;  // bytes

// Each read requests as many bytes.
class RemoteBytes final : public ForwardingSource {
 public:
  explicit RemoteBytes(std::shared_ptr<const Source> below) : ForwardingSource(std::move(below)) {}

  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    requested_ += kPerRead;
    return ForwardingSource::read_at(context, at, out);
  }
  bool is_remote() const override { return true; }
  std::uint64_t requested_bytes() const override { return requested_; }

 private:
  mutable std::atomic<std::uint64_t> requested_{0};
};

struct RemoteScan {
  explicit RemoteScan(RemoteScanLimit limit = {}, bool is_remote = true)
      : file(toy::make_file({.chunks = 40})), source(std::make_shared<ChangeableSource>(file.bytes)) {
    if (is_remote) source = std::make_shared<RemoteBytes>(std::move(source));
    container = toy::open(source, Limits{}, std::make_shared<toy::Watch>()).value();
    catalog = std::make_unique<Catalog>(*container, *source, ScanDetail::kCounts, Catalog::Bounds{.remote = limit});
  }
  Result<IndexedChunk> find(std::uint64_t ordinal) const {
    return wait_for([&] { return catalog->find({}, SearchKey::kRecords, ordinal); });
  }
  Result<PrefixSums> totals() const {
    return wait_for([&] { return catalog->totals(); });
  }

  toy::File file;
  std::shared_ptr<const Source> source;
  std::unique_ptr<Container> container;
  std::unique_ptr<Catalog> catalog;
};

TEST(RemoteScan, PausesWhileNothingWaits) {
  const RemoteScan scan;
  ASSERT_TRUE(scan.find(0));
  while (scan.catalog->state().is_scanning) std::this_thread::yield();
  EXPECT_FALSE(scan.catalog->state().complete);
  EXPECT_LT(scan.catalog->state().totals.chunks, 5u);
}

TEST(RemoteScan, ContinuesForTheNextWaiter) {
  const RemoteScan scan;
  const RemoteScan whole({}, false);
  for (std::uint64_t ordinal = 0; ordinal < 30; ordinal += 7) EXPECT_TRUE(scan.find(ordinal)) << ordinal;
  const auto totals = scan.totals();
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->chunks, 40u);
  EXPECT_EQ(totals->records, whole.totals()->records);
}

TEST(RemoteScan, WaitersOfManyThreadsAreAllResumed) {
  const RemoteScan scan;
  std::vector<std::thread> threads;
  std::atomic<int> found{0};
  threads.reserve(8);
  for (std::uint64_t first = 0; first < 8; ++first) {
    threads.emplace_back([&scan, &found, first] {
      for (std::uint64_t ordinal = first; ordinal < 80; ordinal += 8) found += scan.find(ordinal) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 80);
}

TEST(RemoteScan, FailsBeforeItRequestsMoreThanIsPermitted) {
  const RemoteScan scan({.most = 5 * kPerRead, .advice = " (try: something)"});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto totals = scan.totals();
    ASSERT_FALSE(totals);
    EXPECT_EQ(totals.error().code, Code::kIo);
    EXPECT_EQ(totals.error().os_error, EFBIG);
    EXPECT_NE(totals.error().detail.find("MB of the remote file (try: something)"), std::string::npos);
  }
  EXPECT_LE(scan.source->requested_bytes(), 8 * kPerRead);
  EXPECT_TRUE(scan.find(0));
}

TEST(RemoteScan, LocalScanRunsToTheEndWhateverIsPermitted) {
  const RemoteScan scan({.most = 0}, false);
  EXPECT_TRUE(scan.totals());
}

}  // namespace
}  // namespace recordfs::testing
