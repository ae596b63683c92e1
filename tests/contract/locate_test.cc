#include <algorithm>
#include <random>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

class LocateTest : public SampleTest {
 protected:
  std::vector<Position> positions(const Walk& walked) const {
    const std::uint64_t size = bytes().size();
    const std::uint64_t most = rounds(0, 60);
    std::vector<Position> all = places(walked, std::min(size <= 4096 ? size : 400, most));
    auto chunks = walked.chunks();
    chunks.resize(std::min<std::uint64_t>({chunks.size(), 500, most}));
    for (const ChunkInfo& chunk : chunks) {
      all.insert(all.end(), {chunk.begin, std::min(chunk.begin + 1, chunk.end - 1), chunk.end - 1});
    }
    return all;
  }
};

RECORDFS_FOR_EACH(containers(), LocateTest);

TEST_P(LocateTest, FindsTheSameChunksAsTheScan) {
  const auto container = open_sample();
  if (!container || !container->traits().has_seek_structure) return;
  const Walk walked = walk(*container, bytes().size());
  EXPECT_EQ(joined(check_locate(*container, walked, positions(walked))), "");
}

TEST_P(LocateTest, FindsNothingAfterTheEnd) {
  const auto container = open_sample();
  if (!container || !container->traits().has_seek_structure) return;
  for (const Position at : {Position{bytes().size()}, Position{bytes().size() + 65536}, Position{UINT64_MAX}}) {
    const auto found = container->locate({}, at);
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_FALSE(found->has_value()) << at;
  }
}

class SplitTest : public SampleTest {
 protected:
  // Returns a key from which a scan reaches the first chunk that begins at or after `at`. Finds it without a scan from
  // the beginning: it locates the nearest byte before `at` that a chunk covers.
  static Result<ChunkKey> start_for(const Container& container, Position at) {
    for (std::uint64_t back = 0; container.traits().has_seek_structure && back <= at; back = back * 2 + 1) {
      ASSIGN_OR_RETURN(const auto found, container.locate({}, at - back));
      if (found) return found->key;
    }
    return container.traits().first;
  }

  void read_split(const Container& container, Position begin, Position end, Reading& all) {
    const bool in_file_order = container.traits().is_in_file_order;
    auto start = in_file_order ? start_for(container, begin) : container.traits().first;
    ASSERT_TRUE(start);
    std::uint64_t steps = 0;
    for (std::optional<ChunkKey> at = *start; at && (at->position < end || !in_file_order);) {
      ASSERT_LE(steps++, bytes().size()) << "the scan does not end";
      const auto step = container.scan({}, *at);
      ASSERT_TRUE(step);
      at = step->next;
      if (!step->chunk || step->chunk->begin < begin || step->chunk->begin >= end) continue;
      const auto chunk = container.decode({}, *step->chunk);
      if (chunk) read_records(*step->chunk, **chunk, 0, {}, all);
    }
  }
};

RECORDFS_FOR_EACH(containers(), SplitTest);

TEST_P(SplitTest, SplitsAtAnyOffsetYieldEachRecordOnceInOrder) {
  const auto container = open_sample();
  if (!container) return;
  Reading whole = read_all(*container, bytes().size());
  // Splits follow the file, so their records are in file order.
  if (!container->traits().is_in_file_order) std::ranges::sort(whole.records, {}, &Mark::chunk_begin);
  std::mt19937_64 random(3);
  for (const std::size_t parts : {2u, 3u, 7u, 16u}) {
    std::vector<Position> cuts{0, bytes().size()};
    while (cuts.size() <= parts) cuts.push_back(random() % (bytes().size() + 1));
    std::ranges::sort(cuts);
    Reading all;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) read_split(*container, cuts[i], cuts[i + 1], all);
    if (!container->traits().is_in_file_order) std::ranges::sort(all.records, {}, &Mark::chunk_begin);
    EXPECT_EQ(all.records, whole.records) << parts << " parts";
  }
}

}  // namespace
}  // namespace recordfs::contract
