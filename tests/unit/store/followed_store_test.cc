// Consecutive stores of a growing file.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/store/stored_file.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr Catalog::Bounds kSmall{.anchors = 64, .chunks_per_anchor = 4};

class FollowedToy {
 public:
  explicit FollowedToy(const toy::Shape& shape) : file_(toy::make_file(shape)) {}

  const toy::File& file() const { return file_; }
  toy::Watch& watch() { return *watch_; }
  std::vector<std::string> lines() const { return lines_.all(); }
  std::vector<std::string> details() const { return lines_.details(); }

  // Returns the store of the first `size` bytes.
  std::shared_ptr<RecordStore> at_size(std::size_t size, const RecordStore* shorter = nullptr) {
    return over(file_.bytes.substr(0, size), shorter);
  }
  std::shared_ptr<RecordStore> with_chunks(std::size_t chunks, const RecordStore* shorter = nullptr) {
    return at_size(static_cast<std::size_t>(file_.ends[chunks - 1]), shorter);
  }
  std::shared_ptr<RecordStore> over(const std::string& bytes, const RecordStore* shorter) {
    const auto source = toy::source_of(bytes);
    return std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{}, watch_).value(), services_, kSmall,
                                         FollowOptions{.is_followed = true, .shorter = shorter});
  }

 private:
  toy::File file_;
  std::shared_ptr<toy::Watch> watch_ = std::make_shared<toy::Watch>();
  Lines lines_;
  StoreResources services_{1u << 20, 2, lines_.log()};
};

PrefixSums counts(const RecordStore& store) {
  return waited([&] { return store.index().totals(ScanDetail::kCounts); }).value();
}

std::vector<DamageRow> damage(const RecordStore& store) {
  return *waited([&] { return store.index().damage(); }).value();
}

std::string record(const RecordStore& store, std::uint64_t ordinal) {
  const auto indexed = waited([&] { return store.index().find({}, SearchKey::kRecords, ordinal); });
  if (!indexed) return to_string(indexed.error());
  const auto slice = store.records().read({}, {indexed->chunk, ordinal - indexed->before.records}, 0, UINT64_MAX);
  return slice ? text_of(*slice) : to_string(slice.error());
}

TEST(FollowedStore, OnlyTheFirstScanIsLoggedAsADetail) {
  FollowedToy toy({.chunks = 120});
  auto shorter = toy.with_chunks(110);
  EXPECT_EQ(counts(*shorter).records, 330u);
  auto longer = toy.with_chunks(120, shorter.get());
  EXPECT_EQ(counts(*longer).records, 360u);
  shorter.reset();
  longer.reset();  // their scans have logged everything by then
  EXPECT_EQ(toy.details().size(), 1u);
}

TEST(Settled, MediaTypeEqualsThatOfTheContainer) {
  const toy::File file = toy::make_file({.chunks = 2, .attributes = {{"media", "", "x"}}});
  const auto container = complete_prefix(toy::open(toy::source_of(file.bytes), Limits{}).value(), file.bytes.size());
  EXPECT_EQ(container->metadata()->record_media_type({}).value(), "application/x-toy");
}

TEST(FollowedStore, ScansAddedChunksAndThoseSinceTheLastAnchor) {
  FollowedToy toy({.chunks = 120});
  const auto shorter = toy.with_chunks(110);
  EXPECT_EQ(counts(*shorter).records, 330u);
  toy.watch().scans = 0;
  const auto longer = toy.with_chunks(112, shorter.get());
  EXPECT_EQ(counts(*longer).records, 336u);
  EXPECT_LE(toy.watch().scans, 4u + 2u);
  for (const std::uint64_t ordinal : {0u, 17u, 329u, 330u, 335u}) {
    EXPECT_EQ(record(*longer, ordinal), toy.file().records[ordinal]);
  }
}

TEST(FollowedStore, ScansFromTheBeginningIfNothingWasCounted) {
  FollowedToy toy({.chunks = 30});
  const auto shorter = toy.with_chunks(20);
  const auto longer = toy.with_chunks(30, shorter.get());
  EXPECT_TRUE(longer->index().catch_up()) << "nobody waits for what nobody has asked for";
  EXPECT_EQ(counts(*longer).records, 90u);
}

TEST(FollowedStore, CatchesUpWithTheKnowledgeOfTheShorterStore) {
  FollowedToy toy({.chunks = 30, .counts_in_header = false});
  const auto shorter = toy.with_chunks(20);
  ASSERT_TRUE(waited([&] { return shorter->streams().size(Stream::kLines); }));
  EXPECT_FALSE(shorter->index().is_scanning());
  const auto longer = toy.with_chunks(30, shorter.get());
  ASSERT_TRUE(waited([&] { return longer->index().catch_up(); }));
  const auto size = longer->streams().size(Stream::kLines);
  ASSERT_TRUE(size) << "it is known by then";
  std::uint64_t due = 0;
  for (const std::string& one : toy.file().records) due += one.size() + 1;
  EXPECT_EQ(*size, due);
}

TEST(FollowedStore, QueriesOnlyTheSizesOfAddedChunks) {
  FollowedToy toy({.chunks = 60, .counts_in_header = false});
  const auto shorter = toy.with_chunks(58);
  counts(*shorter);
  toy.watch().layouts = 0;
  const auto longer = toy.with_chunks(60, shorter.get());
  counts(*longer);
  EXPECT_LE(toy.watch().layouts, 4u + 2u);
}

TEST(FollowedStore, DamageIsKeptAndLoggedOnce) {
  FollowedToy toy({.chunks = 60, .broken_headers = {17, 40}});
  auto store = toy.with_chunks(50);
  const std::vector<DamageRow> before = damage(*store);
  ASSERT_EQ(before.size(), 2u);
  for (std::size_t chunks = 51; chunks <= 60; ++chunks) {
    store = toy.with_chunks(chunks, store.get());
    const std::vector<DamageRow> now = damage(*store);
    ASSERT_EQ(now.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(now[i].region.begin, before[i].region.begin);
      EXPECT_EQ(now[i].region.end, before[i].region.end);
      EXPECT_EQ(now[i].first_ordinal, before[i].first_ordinal);
    }
    EXPECT_EQ(counts(*store).records, (chunks - 2) * 3);
  }
  EXPECT_EQ(toy.lines().size(), 2u);
}

TEST(FollowedStore, OnlyDamagedRangesAreScannedAgain) {
  FollowedToy toy({.chunks = 200, .broken_headers = {50}});
  const auto shorter = toy.with_chunks(198);
  counts(*shorter);
  toy.watch().scans = 0;
  const auto longer = toy.with_chunks(200, shorter.get());
  EXPECT_EQ(counts(*longer).records, 597u);
  EXPECT_LE(toy.watch().scans, 20u);
}

TEST(FollowedStore, RescansIfTheDamageHasChanged) {
  const toy::Shape broken{.chunks = 60, .broken_headers = {17}};
  FollowedToy toy({.chunks = 60});
  const toy::File damaged = toy::make_file(broken);
  const auto shorter = toy.over(damaged.bytes.substr(0, static_cast<std::size_t>(damaged.ends[49])), nullptr);
  EXPECT_EQ(counts(*shorter).records, 147u);
  const auto longer = toy.with_chunks(60, shorter.get());
  EXPECT_EQ(counts(*longer).records, 180u);
  EXPECT_TRUE(damage(*longer).empty());
}

TEST(FollowedStore, UnfinishedScanIsNotContinued) {
  FollowedToy toy({.chunks = 30});
  Gate gate;
  toy.watch().on_scan = [&](Position position) { gate.pass(position); };
  gate.close_from(toy.file().begins[10]);
  const auto shorter = toy.with_chunks(20);
  const auto counted = shorter->index().totals(ScanDetail::kCounts);
  ASSERT_EQ(counted.error().code, Code::kPending);
  const WaitTicket& ticket = *counted.error().wait;
  const Signal resumed;
  ASSERT_NE(ticket.waitable->wait(ticket, [resumed] { resumed.set(); }), 0u);
  gate.wait_until_held();
  EXPECT_TRUE(shorter->index().is_scanning());
  const auto longer = toy.with_chunks(30, shorter.get());
  gate.open();
  resumed.wait();
  EXPECT_EQ(counts(*longer).records, 90u);
}

// Its header announces a trailer, like a file that is still being written.
class PromisesTrailer final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  const TrailerReader* trailer() const override { return &trailer_; }

 private:
  const TrailerReader trailer_ = [](const RequestContext&) -> Result<Buffer> {
    return Error{.code = Code::kDamage, .detail = "no trailer"};
  };
};

TEST(Settled, HasATrailerOnlyIfItIsReadable) {
  const toy::File file = toy::make_file({.chunks = 2, .trailer = "the end"});
  const auto open = [&] { return toy::open(toy::source_of(file.bytes), Limits{}).value(); };
  EXPECT_NE(complete_prefix(open(), file.bytes.size())->trailer(), nullptr);
  EXPECT_EQ(complete_prefix(std::make_unique<PromisesTrailer>(open()), file.bytes.size())->trailer(), nullptr);
}

}  // namespace
}  // namespace recordfs::testing
