#include <map>
#include <random>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

class BulkTest : public SampleTest {
 protected:
  Violations check(std::string_view changed, std::uint64_t seed, std::uint64_t* chunks = nullptr) const {
    const auto container = open(changed);
    if (!container) return {};
    return check_bulk(**container, as_bytes(changed), walk(**container, changed.size()), seed, chunks);
  }
};

RECORDFS_FOR_EACH(containers(), BulkTest);

TEST_P(BulkTest, BatchHasTheRecordsOfAScan) { EXPECT_EQ(joined(check(bytes(), 1)), ""); }

TEST_P(BulkTest, BatchEndsBeforeAChangedByte) {
  const auto container = open_sample();
  if (!container || container->bulk() == nullptr) return;
  const Walk whole = walk(*container, bytes().size());
  std::string changed(bytes());
  std::mt19937_64 random(5);
  Violations broken;
  const std::uint64_t count = std::min<std::uint64_t>(rounds(20 * bytes().size(), 12), bytes().size());
  for (const Position at : places(whole, count)) {
    const auto with = static_cast<char>(1 + random() % 255);
    changed[at] = static_cast<char>(changed[at] ^ with);
    std::ranges::move(check(changed, random()), std::back_inserter(broken));
    changed[at] = static_cast<char>(changed[at] ^ with);
  }
  EXPECT_EQ(joined(broken), "");
}

// Otherwise the tests above would hold for a reader that finds nothing.
TEST(Bulk, EachFormatReadsSomeChunksTogether) {
  std::map<std::string_view, std::uint64_t> chunks;
  for (const Sample& sample : all_samples()) {
    if (sample.want.refused || sample.want.damaged) continue;
    const auto bytes = sample.bytes();
    const auto container = sample.format->open({}, source_of(*bytes), Limits{});
    if (!container || (*container)->bulk() == nullptr) continue;
    std::uint64_t& sum = chunks[sample.format->name];
    check_bulk(**container, as_bytes(*bytes), walk(**container, bytes->size()), 1, &sum);
  }
  EXPECT_FALSE(chunks.empty());
  for (const auto& [format, sum] : chunks) EXPECT_GT(sum, 0u) << format;
}

}  // namespace
}  // namespace recordfs::contract
