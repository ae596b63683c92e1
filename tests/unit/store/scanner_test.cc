#include "core/store/scanner.h"

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

struct Scanned {
  std::vector<IndexedChunk> places;
  std::vector<DamageRow> damage;
  PrefixSums totals;
};

Scanned scan_all(const Container& container, Position size, ScanDetail detail) {
  Scanned scanned;
  Scanner scanner(container, size, detail);
  while (!scanner.at_end()) {
    EXPECT_TRUE(scanner.step({}));
    if (scanner.chunk()) scanned.places.push_back(*scanner.chunk());
    scanned.damage.insert(scanned.damage.end(), scanner.damage().begin(), scanner.damage().end());
  }
  scanned.totals = scanner.totals();
  return scanned;
}

Scanned scan_toy(const toy::Shape& shape, ScanDetail detail, std::shared_ptr<toy::Watch> watch = nullptr) {
  const auto source = toy::source_of(toy::make_file(shape).bytes);
  return scan_all(*toy::open(source, Limits{}, std::move(watch)).value(), source->size(), detail);
}

TEST(Scanner, SumsTheTotalsBeforeEachChunk) {
  const toy::File file = toy::make_file({});
  const Scanned scanned = scan_toy({}, ScanDetail::kCounts);
  ASSERT_EQ(scanned.places.size(), 4u);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(scanned.places[i].before.chunks, i);
    EXPECT_EQ(scanned.places[i].before.records, i * 3);
    EXPECT_EQ(scanned.places[i].before.bytes, bytes);
    for (std::size_t j = 0; j < 3; ++j) bytes += file.records[i * 3 + j].size();
  }
  EXPECT_EQ(scanned.totals.bytes, bytes);
  EXPECT_EQ(scanned.totals.at(SearchKey::kLines), bytes + 12);
}

TEST(Scanner, QueriesLayoutsOnlyIfHeadersAreInsufficient) {
  const auto watch = std::make_shared<toy::Watch>();
  EXPECT_EQ(scan_toy({}, ScanDetail::kSizes, watch).totals.records, 12u);
  EXPECT_EQ(watch->layouts, 0u);
  EXPECT_EQ(scan_toy({.counts_in_header = false}, ScanDetail::kHeaders, watch).totals.records, 0u);
  EXPECT_EQ(watch->layouts, 0u);
  EXPECT_EQ(scan_toy({.counts_in_header = false}, ScanDetail::kCounts, watch).totals.records, 12u);
  EXPECT_EQ(watch->layouts, 4u);
}

TEST(Scanner, QueriesNoLayoutThatIsAlreadyKnown) {
  const auto watch = std::make_shared<toy::Watch>();
  const auto source = toy::source_of(toy::make_file({.counts_in_header = false, .broken_payloads = {1}}).bytes);
  const auto container = toy::open(source, Limits{}, watch).value();
  std::vector<CachedSizes> cached_sizes;
  for (Scanner scanner(*container, source->size(), ScanDetail::kCounts); !scanner.at_end();) {
    ASSERT_TRUE(scanner.step({}));
    cached_sizes.push_back(scanner.measured());
  }
  EXPECT_EQ(cached_sizes[1], (CachedSizes{.records = 0, .size = CachedSizes::kNothing}));
  const Scanned whole = scan_all(*container, source->size(), ScanDetail::kCounts);
  ASSERT_EQ(watch->layouts, 8u);
  cached_sizes[2] = {};
  Scanner scanner(*container, source->size(), ScanDetail::kCounts, whole.places[1].chunk.key, whole.places[1].before,
                  {cached_sizes.begin() + 1, cached_sizes.end()});
  while (!scanner.at_end()) {
    ASSERT_TRUE(scanner.step({}));
    EXPECT_EQ(scanner.measured() == CachedSizes{}, scanner.chunk()->before.chunks != 2);
  }
  EXPECT_EQ(scanner.totals().bytes, whole.totals.bytes);
  EXPECT_EQ(scanner.totals().rows, whole.totals.rows);
  EXPECT_EQ(watch->layouts, 9u);
}

TEST(Scanner, UndecodableChunkWithACountKeepsItsOrdinals) {
  const Scanned scanned = scan_toy({.broken_payloads = {1}}, ScanDetail::kSizes);
  EXPECT_EQ(scanned.totals.records, 12u);
  EXPECT_TRUE(scanned.damage.empty());
}

TEST(Scanner, UndecodableChunkWithoutACountIsDamageOfOneByte) {
  const Scanned scanned = scan_toy({.counts_in_header = false, .broken_payloads = {1}}, ScanDetail::kCounts);
  EXPECT_EQ(scanned.totals.records, 9u);
  ASSERT_EQ(scanned.damage.size(), 1u);
  EXPECT_EQ(scanned.damage[0].first_ordinal, 3u);
  EXPECT_EQ(scanned.places[2].before.bytes, scanned.places[1].before.bytes + 1);
}

TEST(Scanner, FailedStepMayBeRepeated) {
  const toy::File file = toy::make_file({});
  const auto source = std::make_shared<ChangeableSource>(file.bytes);
  const auto container = toy::open(source, Limits{}).value();
  Scanner scanner(*container, source->size(), ScanDetail::kCounts);
  ASSERT_TRUE(scanner.step({}));
  const ChunkKey next = scanner.next();
  source->fail(1, bad_sector());
  EXPECT_EQ(scanner.step({}).error().code, Code::kIo);
  EXPECT_EQ(scanner.next(), next);
  EXPECT_EQ(scanner.totals().chunks, 1u);
  ASSERT_TRUE(scanner.step({}));
  EXPECT_EQ(scanner.chunk()->chunk.begin, file.begins[1]);
}

// Always reports progress, but makes none.
class Treadmill final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<Step> scan(const RequestContext&, ChunkKey at) const override {
    return Step{.chunk = {}, .damage = {}, .next = at};
  }
};

TEST(Scanner, EndsIfTheContainerDoesNotAdvance) {
  const auto source = toy::source_of(toy::make_file({.chunks = 1}).bytes);
  const Treadmill container(toy::open(source, Limits{}).value());
  std::uint64_t steps = 0;
  for (Scanner scanner(container, source->size(), ScanDetail::kCounts); !scanner.at_end(); ++steps)
    ASSERT_TRUE(scanner.step({}));
  EXPECT_EQ(steps, source->size() + 1);
}

TEST(Scanner, ContinuesFromAPlaceWithItsTotals) {
  const auto source = toy::source_of(toy::make_file({}).bytes);
  const auto container = toy::open(source, Limits{}).value();
  const Scanned whole = scan_all(*container, source->size(), ScanDetail::kCounts);
  Scanner rest(*container, source->size(), ScanDetail::kCounts, whole.places[2].chunk.key, whole.places[2].before);
  ASSERT_TRUE(rest.step({}));
  EXPECT_EQ(rest.chunk()->before.records, 6u);
  ASSERT_TRUE(rest.step({}));
  EXPECT_TRUE(rest.at_end());
  EXPECT_EQ(rest.totals().rows, whole.totals.rows);
}

}  // namespace
}  // namespace recordfs::testing
