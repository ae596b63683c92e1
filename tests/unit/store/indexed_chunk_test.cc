#include "core/store/scanner.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

IndexedChunk chunk_with(std::uint64_t number, bool known) {
  IndexedChunk indexed;
  indexed.chunk.begin = number;
  indexed.chunk.end = number + 1;
  indexed.chunk.kind = ChunkKind("kind");
  indexed.chunk.codec = "codec";
  indexed.chunk.stored_size = number;
  if (known) {
    indexed.chunk.records = number;
    indexed.chunk.decoded_size = number;
  }
  indexed.before.records = number;
  return indexed;
}

TEST(IndexedChunk, RowSizeEqualsTheLengthOfTheRow) {
  for (std::uint64_t number = 1; number < kEverything / 11; number *= 10) {
    for (const std::uint64_t near : {number - 1, number, number + 1}) {
      for (const bool known : {true, false}) {
        const IndexedChunk indexed = chunk_with(near, known);
        EXPECT_EQ(chunk_row_size(indexed), chunk_row(indexed).size()) << chunk_row(indexed);
      }
    }
  }
}

TEST(IndexedChunk, RowShowsDashesForUnknownFields) {
  EXPECT_EQ(chunk_row(chunk_with(7, true)), "7\t8\tkind\tcodec\t7\t7\t7\t7\n");
  EXPECT_EQ(chunk_row(chunk_with(7, false)), "7\t8\tkind\tcodec\t7\t-\t7\t-\n");
  EXPECT_EQ(chunk_rows_header(), "begin\tend\tkind\tcodec\tfirst_ordinal\trecords\tstored\tdecoded\n");
}

TEST(IndexedChunk, UnknownSizeCountsAsOneByteAndUnknownCountAsNoRecord) {
  const PrefixSums after = chunk_with(7, false).after();
  EXPECT_EQ(after.chunks, 1u);
  EXPECT_EQ(after.records, 7u);
  EXPECT_EQ(after.bytes, 1u);
  EXPECT_EQ(after.position, 8u);
}

TEST(IndexedChunk, SumOfDeclaredSizesNeverOverflows) {
  IndexedChunk indexed = chunk_with(1, true);
  indexed.chunk.decoded_size = kEverything;
  PrefixSums before;
  for (int i = 0; i < 5; ++i) {
    indexed.before = before;
    const PrefixSums after = indexed.after();
    EXPECT_GE(after.bytes, before.bytes);
    EXPECT_LE(after.at(SearchKey::kLines), std::uint64_t{1} << 63);
    before = after;
  }
}

}  // namespace
}  // namespace recordfs
