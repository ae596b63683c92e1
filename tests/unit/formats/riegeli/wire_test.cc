#include "core/formats/riegeli/wire.h"

#include <limits>

#include <gtest/gtest.h>

namespace recordfs::riegeli {
namespace {

TEST(ChunkEnd, EmptyRecordsExtendToTheFirstLegalBoundary) {
  const auto end_of = [](std::uint64_t num_records) { return chunk_end(64, {.num_records = num_records}); };
  EXPECT_EQ(end_of(0), 104u);
  EXPECT_EQ(end_of(65472), 65536u);
  EXPECT_EQ(end_of(65473), 65561u);
  EXPECT_EQ(end_of(65496), 65561u);
  EXPECT_EQ(end_of(65497), 65561u);
  EXPECT_EQ(end_of(65498), 65562u);
}

TEST(ChunkEnd, DataUpToABlockBoundaryEndsThere) {
  EXPECT_EQ(chunk_end(64, {.data_size = 65536 - 104}), 65536u);
  EXPECT_EQ(chunk_end(64, {.data_size = 65536 - 103}), 65561u);
}

TEST(ChunkEnd, ChunkOnABlockBoundaryBeginsWithTheBlockHeader) {
  EXPECT_EQ(chunk_end(0, {}), 64u);
  EXPECT_EQ(chunk_end(65536, {.data_size = 10}), 65536u + 24 + 40 + 10);
  EXPECT_EQ(position_in_chunk(65536, 0), 65560u);
}

TEST(ChunkEnd, OverflowYieldsTheLargestPosition) {
  const ChunkHeader header{.data_size = std::numeric_limits<std::uint64_t>::max()};
  EXPECT_EQ(chunk_end(64, header), std::numeric_limits<Position>::max());
  EXPECT_EQ(content_end(64, header), std::numeric_limits<Position>::max());
}

TEST(ChunkBoundary, PositionInsideABlockHeaderIsNotABoundary) {
  EXPECT_TRUE(is_chunk_boundary(65536));
  EXPECT_FALSE(is_chunk_boundary(65537));
  EXPECT_FALSE(is_chunk_boundary(65560));
  EXPECT_TRUE(is_chunk_boundary(65561));
}

TEST(Signature, ConsistsOfABlockHeaderAndAChunkHeaderWithValidHashes) {
  const auto block = parse_block_header(file_signature().first(kBlockHeaderSize));
  ASSERT_TRUE(block);
  EXPECT_EQ(block->previous_chunk, 0u);
  EXPECT_EQ(block->next_chunk, 64u);
  const auto chunk = parse_chunk_header(file_signature().subspan(kBlockHeaderSize));
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->type, ChunkType::kSignature);
  EXPECT_TRUE(keeps_type_rules(*chunk));
}

TEST(Kinds, HaveNames) {
  for (const char type : {'s', 'm', 'p', 'r', 't'}) {
    const auto chunk_type = static_cast<ChunkType>(type);
    EXPECT_EQ(kind_of(chunk_type).as<ChunkType>(), chunk_type);
  }
  EXPECT_EQ(kind_of(ChunkType::kUnknown).word(), "unknown");
}

}  // namespace
}  // namespace recordfs::riegeli
