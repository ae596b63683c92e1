#include "core/store/walk.h"

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

struct Walked {
  std::vector<Place> places;
  std::vector<DamageRow> damage;
  Totals totals;
};

Walked walk_all(const Container& container, Position size, Depth depth) {
  Walked walked;
  Walk walk(container, size, depth);
  while (!walk.at_end()) {
    EXPECT_TRUE(walk.step());
    if (walk.chunk()) walked.places.push_back(*walk.chunk());
    walked.damage.insert(walked.damage.end(), walk.damage().begin(), walk.damage().end());
  }
  walked.totals = walk.totals();
  return walked;
}

Walked walk_toy(const toy::Shape& shape, Depth depth, std::shared_ptr<toy::Watch> watch = nullptr) {
  const auto source = toy::source_of(toy::make_file(shape).bytes);
  return walk_all(*toy::open(source, Limits{}, std::move(watch)).value(), source->size(), depth);
}

TEST(Walk, SumsTheTotalsBeforeEachChunk) {
  const toy::File file = toy::make_file({});
  const Walked walked = walk_toy({}, Depth::kCounts);
  ASSERT_EQ(walked.places.size(), 4u);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(walked.places[i].before.chunks, i);
    EXPECT_EQ(walked.places[i].before.records, i * 3);
    EXPECT_EQ(walked.places[i].before.bytes, bytes);
    for (std::size_t j = 0; j < 3; ++j) bytes += file.records[i * 3 + j].size();
  }
  EXPECT_EQ(walked.totals.bytes, bytes);
  EXPECT_EQ(walked.totals.at(Coordinate::kLines), bytes + 12);
}

TEST(Walk, QueriesLayoutsOnlyIfHeadersAreInsufficient) {
  const auto watch = std::make_shared<toy::Watch>();
  EXPECT_EQ(walk_toy({}, Depth::kSizes, watch).totals.records, 12u);
  EXPECT_EQ(watch->layouts, 0u);
  EXPECT_EQ(walk_toy({.counts_in_header = false}, Depth::kHeaders, watch).totals.records, 0u);
  EXPECT_EQ(watch->layouts, 0u);
  EXPECT_EQ(walk_toy({.counts_in_header = false}, Depth::kCounts, watch).totals.records, 12u);
  EXPECT_EQ(watch->layouts, 4u);
}

TEST(Walk, QueriesNoLayoutThatIsAlreadyKnown) {
  const auto watch = std::make_shared<toy::Watch>();
  const auto source = toy::source_of(toy::make_file({.counts_in_header = false, .broken_payloads = {1}}).bytes);
  const auto container = toy::open(source, Limits{}, watch).value();
  std::vector<Learnt> learnt;
  for (Walk walk(*container, source->size(), Depth::kCounts); !walk.at_end();) {
    ASSERT_TRUE(walk.step());
    learnt.push_back(walk.learnt());
  }
  EXPECT_EQ(learnt[1], (Learnt{.records = 0, .size = Learnt::kNothing}));
  const Walked whole = walk_all(*container, source->size(), Depth::kCounts);
  ASSERT_EQ(watch->layouts, 8u);
  learnt[2] = {};
  Walk walk(*container, source->size(), Depth::kCounts, whole.places[1].chunk.key, whole.places[1].before,
            {learnt.begin() + 1, learnt.end()});
  while (!walk.at_end()) {
    ASSERT_TRUE(walk.step());
    EXPECT_EQ(walk.learnt() == Learnt{}, walk.chunk()->before.chunks != 2);
  }
  EXPECT_EQ(walk.totals().bytes, whole.totals.bytes);
  EXPECT_EQ(walk.totals().rows, whole.totals.rows);
  EXPECT_EQ(watch->layouts, 9u);
}

TEST(Walk, UndecodableChunkWithACountKeepsItsOrdinals) {
  const Walked walked = walk_toy({.broken_payloads = {1}}, Depth::kSizes);
  EXPECT_EQ(walked.totals.records, 12u);
  EXPECT_TRUE(walked.damage.empty());
}

TEST(Walk, UndecodableChunkWithoutACountIsDamageOfOneByte) {
  const Walked walked = walk_toy({.counts_in_header = false, .broken_payloads = {1}}, Depth::kCounts);
  EXPECT_EQ(walked.totals.records, 9u);
  ASSERT_EQ(walked.damage.size(), 1u);
  EXPECT_EQ(walked.damage[0].first_ordinal, 3u);
  EXPECT_EQ(walked.places[2].before.bytes, walked.places[1].before.bytes + 1);
}

TEST(Walk, FailedStepMayBeRepeated) {
  const toy::File file = toy::make_file({});
  const auto source = std::make_shared<MoodySource>(file.bytes);
  const auto container = toy::open(source, Limits{}).value();
  Walk walk(*container, source->size(), Depth::kCounts);
  ASSERT_TRUE(walk.step());
  const ChunkKey next = walk.next();
  source->fail(1, bad_sector());
  EXPECT_EQ(walk.step().error().code, Code::kIo);
  EXPECT_EQ(walk.next(), next);
  EXPECT_EQ(walk.totals().chunks, 1u);
  ASSERT_TRUE(walk.step());
  EXPECT_EQ(walk.chunk()->chunk.begin, file.begins[1]);
}

// Always reports progress, but makes none.
class Treadmill final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  Result<Step> scan(ChunkKey at) const override { return Step{.chunk = {}, .damage = {}, .next = at}; }
};

TEST(Walk, EndsIfTheContainerDoesNotAdvance) {
  const auto source = toy::source_of(toy::make_file({.chunks = 1}).bytes);
  const Treadmill container(toy::open(source, Limits{}).value());
  std::uint64_t steps = 0;
  for (Walk walk(container, source->size(), Depth::kCounts); !walk.at_end(); ++steps) ASSERT_TRUE(walk.step());
  EXPECT_EQ(steps, source->size() + 1);
}

TEST(Walk, ContinuesFromAPlaceWithItsTotals) {
  const auto source = toy::source_of(toy::make_file({}).bytes);
  const auto container = toy::open(source, Limits{}).value();
  const Walked whole = walk_all(*container, source->size(), Depth::kCounts);
  Walk rest(*container, source->size(), Depth::kCounts, whole.places[2].chunk.key, whole.places[2].before);
  ASSERT_TRUE(rest.step());
  EXPECT_EQ(rest.chunk()->before.records, 6u);
  ASSERT_TRUE(rest.step());
  EXPECT_TRUE(rest.at_end());
  EXPECT_EQ(rest.totals().rows, whole.totals.rows);
}

}  // namespace
}  // namespace recordfs::testing
