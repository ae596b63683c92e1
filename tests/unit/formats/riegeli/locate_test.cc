// Container::locate() finds the chunks that the scan finds.
#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/wire.h"
#include "tests/unit/formats/riegeli/files.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::riegeli {
namespace {

using testing::CountingSource;

// Fails reads of one byte.
class BadSectorSource final : public ForwardingSource {
 public:
  explicit BadSectorSource(const std::string& bytes) : ForwardingSource(std::make_shared<CountingSource>(bytes)) {}
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    if (at <= bad_sector && bad_sector - at < out.size()) return Error{Code::kIo, bad_sector, "bad sector"};
    return below().read_at(context, at, out);
  }

  Position bad_sector = UINT64_MAX;
};

TEST(Locate, SmallChunkNeedsOneRead) {
  const std::string file = many_chunks(5 * kBlockSize);
  const auto source = std::make_shared<CountingSource>(file);
  const auto container = open({}, source, {});
  ASSERT_TRUE(container);
  for (const ChunkInfo& chunk : walk(**container, file.size()).chunks) {
    source->take_reads();
    const auto found = (*container)->locate({}, chunk.begin);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->end, chunk.end);
    EXPECT_LE(source->take_reads(), 2u) << "one more for a chunk that began in the block before";
  }
}

TEST(Locate, BadSectorInDataDoesNotHideOtherChunksOfItsBlock) {
  const std::string file = many_chunks(2 * kBlockSize);
  const auto source = std::make_shared<BadSectorSource>(file);
  const auto container = open({}, source, {});
  ASSERT_TRUE(container);
  const auto chunks = walk(**container, file.size()).chunks;
  source->bad_sector = chunks[10].begin + 500;
  for (const ChunkInfo& chunk : chunks) {
    const auto found = (*container)->locate({}, chunk.begin);
    ASSERT_TRUE(found && *found) << chunk.begin;
    EXPECT_EQ((*found)->end, chunk.end);
  }
}

TEST(Locate, ChunkBehindARefusedOneIsFoundAsByTheScan) {
  const std::string file = many_chunks(2 * kBlockSize);
  Limits limits;
  limits.records_per_chunk = 9;
  const auto container = open_bytes(file, limits);
  const Walk all = walk(*container, file.size());
  for (Position at = 64; at < file.size(); at += 700) {
    const auto covers = [at](const ChunkInfo& chunk) { return chunk.begin <= at && at < chunk.end; };
    const auto found = container->locate({}, at);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->has_value(), std::ranges::any_of(all.chunks, covers)) << at;
  }
}

// Overwrites, removes or inserts some bytes, or removes a block.
std::string spoiled(std::string file, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  switch (random() % 5) {
    case 0: flip(file, below(file.size())); break;
    case 1: flip(file, below(file.size() / kBlockSize) * kBlockSize + below(70)); break;
    case 2: file.erase(below(file.size()), 1 + below(200)); break;
    case 3: file.insert(below(file.size()), std::string(1 + below(200), 'i')); break;
    default: file.erase(below(file.size() / kBlockSize) * kBlockSize, kBlockSize);
  }
  return file;
}

TEST(Locate, AgreesWithTheScanForAnyDamage) {
  std::mt19937 random(1);
  const std::string whole = many_chunks(5 * kBlockSize);
  for (int i = 0; i < 60; ++i) {
    const std::string file = spoiled(spoiled(whole, random), random);
    const auto container = open_bytes(file);
    ASSERT_TRUE(container);
    const Walk all = walk(*container, file.size());
    for (Position at = 0; at < file.size(); at += 1 + random() % 9000) {
      const auto covering =
          std::ranges::find_if(all.chunks, [&](const auto& chunk) { return chunk.begin <= at && at < chunk.end; });
      auto found = container->locate({}, at);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->has_value(), covering != all.chunks.end()) << i << " at " << at;
      if (*found) {
        EXPECT_EQ((*found)->begin, covering->begin);
      }
    }
  }
}

}  // namespace
}  // namespace recordfs::riegeli
