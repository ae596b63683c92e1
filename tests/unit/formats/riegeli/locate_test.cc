// Container::locate() finds the chunks that the scan finds.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/formats/riegeli/framing.h"
#include "tests/unit/formats/riegeli/files.h"

namespace recordfs::riegeli {
namespace {

// Counts the reads, and fails those of one byte.
class CountingSource final : public Source {
 public:
  explicit CountingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    ++reads;
    if (at <= bad_sector && bad_sector - at < out.size()) return Error{Code::kIo, bad_sector, "bad sector"};
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), bytes_.size() - at));
    copy_bytes(as_bytes(bytes_).subspan(static_cast<std::size_t>(at), length), out);
    return length;
  }

  mutable int reads = 0;
  Position bad_sector = UINT64_MAX;

 private:
  const std::string bytes_;
};

TEST(Locate, SmallChunkNeedsOneRead) {
  const std::string file = many_chunks(5 * kBlockSize);
  const auto source = std::make_shared<CountingSource>(file);
  const auto container = open({}, source, {});
  ASSERT_TRUE(container);
  for (const ChunkInfo& chunk : walk(**container, file.size()).chunks) {
    source->reads = 0;
    const auto found = (*container)->locate({}, chunk.begin);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->end, chunk.end);
    EXPECT_LE(source->reads, 2) << "one more for a chunk that began in the block before";
  }
}

TEST(Locate, BadSectorInDataDoesNotHideOtherChunksOfItsBlock) {
  const std::string file = many_chunks(2 * kBlockSize);
  const auto source = std::make_shared<CountingSource>(file);
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
