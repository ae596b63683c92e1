#include <algorithm>

#include "tests/contract/sample_test.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::contract {
namespace {

class WalkTest : public SampleTest {};
RECORDFS_FOR_EACH(containers(), WalkTest);

TEST_P(WalkTest, AdvancesAndTerminates) {
  const auto container = open_sample();
  if (!container) return;
  EXPECT_EQ(joined(check_walk(walk(*container, bytes().size()), bytes().size())), "");
}

TEST_P(WalkTest, TwoContainersOfOneFileTakeTheSameSteps) {
  const auto one = open_sample();
  const auto other = open_sample();
  if (!one) return;
  const Walk first = walk(*one, bytes().size());
  const Walk second = walk(*other, bytes().size());
  ASSERT_EQ(first.visits.size(), second.visits.size());
  for (std::size_t i = 0; i < first.visits.size(); ++i) {
    EXPECT_TRUE(same_step(first.visits[i].step, second.visits[i].step)) << "step " << i;
  }
}

TEST_P(WalkTest, AnyStepCanBeRepeatedWithTheSameResult) {
  const auto container = open_sample();
  if (!container) return;
  EXPECT_EQ(joined(check_rescan(*container, walk(*container, bytes().size()))), "");
}

// Except for the old end of a reused file, which was not written as part of the new content.
TEST_P(WalkTest, UndamagedFileHasNoDamagedRegion) {
  const auto container = open_sample();
  if (!container || sample().want.damaged) return;
  for (const DamagedRegion& region : walk(*container, bytes().size()).damage()) {
    EXPECT_EQ(region.damage_class, DamageClass::kStale) << to_string(region);
  }
}

// Not counting the chunk that the step returns, which some formats verify during the scan.
TEST_P(WalkTest, OneStepReadsAtMostAboutScanBytes) {
  constexpr std::uint64_t kSlack = 4 * 65536;  // the frames at both ends of a step, and the one before a damaged frame
  Limits limits;
  limits.scan_bytes = 4096;
  const auto source = std::make_shared<testing::CountingSource>(std::string(bytes()));
  auto container = sample().format->open({}, source, limits);
  if (!container) return;
  source->take_read_bytes();
  std::uint64_t steps = 0;
  for (std::optional<ChunkKey> at = (*container)->traits().first; at;) {
    ASSERT_LE(steps++, bytes().size()) << "the scan does not end";
    const auto step = (*container)->scan({}, *at);
    ASSERT_TRUE(step);
    const std::uint64_t own = step->chunk ? step->chunk->end - step->chunk->begin : 0;
    EXPECT_LE(source->take_read_bytes(), limits.scan_bytes + own + kSlack) << "step at " << at->position;
    at = step->next;
  }
}

TEST_P(WalkTest, ContainerNamesItsFormat) {
  const auto container = open_sample();
  if (!container || (sample().want.damaged && container->traits().format == sample().format->built_on)) return;
  EXPECT_EQ(container->traits().format, sample().format->name);
}

}  // namespace
}  // namespace recordfs::contract
