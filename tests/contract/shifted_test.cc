// Files in which a byte was changed, inserted or deleted: the scan and locate() find the same chunks.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

constexpr std::size_t kCheckedSteps = 60;
constexpr std::size_t kCheckedChunks = 40;
constexpr std::uint64_t kCostOfAByte = 16;  // a chunk is reached in several ways

// Counts both the file's bytes and its content: 50,000 empty records can be 1,600 bytes of gzip.
std::uint64_t cost_of(const Walk& walk, std::uint64_t size) {
  for (const ChunkInfo& chunk : walk.chunks()) size += chunk.decoded_size.value_or(0) + 20 * chunk.records.value_or(0);
  return kCostOfAByte * size;
}

class ShiftTest : public SampleTest {
 protected:
  std::string damaged(Position at, std::uint64_t how) const {
    std::string bytes(this->bytes());
    if (how % 3 == 0) bytes[at] = static_cast<char>(bytes[at] ^ 1);
    if (how % 3 == 1) bytes.insert(at, 1, 'x');
    if (how % 3 == 2) bytes.erase(at, 1);
    return bytes;
  }

  static std::vector<Position> positions(const std::vector<ChunkInfo>& chunks, std::uint64_t size,
                                         std::mt19937_64& random) {
    std::vector<Position> all{random() % (size + 1), random() % (size + 1)};
    for (const ChunkInfo& chunk : chunks) all.insert(all.end(), {chunk.begin, chunk.end - 1});
    return all;
  }

  Violations check(const std::string& bytes, std::mt19937_64& random) const {
    Limits limits;
    if (random() % 2 == 0) limits.scan_bytes = 4096;
    const auto container = open(bytes, limits);
    if (!container) return {};
    Walk walked = walk(**container, bytes.size());
    Violations broken = check_walk(walked, bytes.size());
    if ((*container)->traits().has_seek_structure) {
      auto chunks = walked.chunks();
      std::ranges::shuffle(chunks, random);
      chunks.resize(std::min(chunks.size(), kCheckedChunks));
      std::ranges::move(check_locate(**container, walked, positions(chunks, bytes.size(), random)),
                        std::back_inserter(broken));
    }
    std::ranges::shuffle(walked.visits, random);
    walked.visits.resize(std::min(walked.visits.size(), kCheckedSteps));
    std::ranges::move(check_rescan(**container, walked), std::back_inserter(broken));
    return broken;
  }
};

RECORDFS_FOR_EACH(containers(), ShiftTest);

TEST_P(ShiftTest, ScanAndLocateFindTheSameChunks) {
  const auto container = open_sample();
  if (!container) return;
  const Walk whole = walk(*container, bytes().size());
  std::mt19937_64 random(5);
  const std::uint64_t count = rounds(cost_of(whole, bytes().size()), 3);
  for (const Position at : places(whole, std::min<std::uint64_t>(count, bytes().size()))) {
    const std::uint64_t how = random();
    SCOPED_TRACE(fmt::format("byte {} {}", at, how % 3 == 0 ? "changed" : how % 3 == 1 ? "more" : "less"));
    EXPECT_EQ(joined(check(damaged(at, how), random)), "");
  }
}

}  // namespace
}  // namespace recordfs::contract
