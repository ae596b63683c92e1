#include "core/store/place.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

Place place_with(std::uint64_t number, bool known) {
  Place place;
  place.chunk.begin = number;
  place.chunk.end = number + 1;
  place.chunk.kind = "kind";
  place.chunk.codec = "codec";
  place.chunk.stored_size = number;
  if (known) {
    place.chunk.records = number;
    place.chunk.decoded_size = number;
  }
  place.before.records = number;
  return place;
}

TEST(Place, RowSizeEqualsTheLengthOfTheRow) {
  for (std::uint64_t number = 1; number < kEverything / 11; number *= 10) {
    for (const std::uint64_t near : {number - 1, number, number + 1}) {
      for (const bool known : {true, false}) {
        const Place place = place_with(near, known);
        EXPECT_EQ(chunk_row_size(place), chunk_row(place).size()) << chunk_row(place);
      }
    }
  }
}

TEST(Place, RowShowsDashesForUnknownFields) {
  EXPECT_EQ(chunk_row(place_with(7, true)), "7\t8\tkind\tcodec\t7\t7\t7\t7\n");
  EXPECT_EQ(chunk_row(place_with(7, false)), "7\t8\tkind\tcodec\t7\t-\t7\t-\n");
  EXPECT_EQ(chunk_rows_header(), "begin\tend\tkind\tcodec\tfirst_ordinal\trecords\tstored\tdecoded\n");
}

TEST(Place, UnknownSizeCountsAsOneByteAndUnknownCountAsNoRecord) {
  const Totals after = place_with(7, false).after();
  EXPECT_EQ(after.chunks, 1u);
  EXPECT_EQ(after.records, 7u);
  EXPECT_EQ(after.bytes, 1u);
  EXPECT_EQ(after.position, 8u);
}

TEST(Place, SumOfDeclaredSizesNeverOverflows) {
  Place place = place_with(1, true);
  place.chunk.decoded_size = kEverything;
  Totals before;
  for (int i = 0; i < 5; ++i) {
    place.before = before;
    const Totals after = place.after();
    EXPECT_GE(after.bytes, before.bytes);
    EXPECT_LE(after.at(Coordinate::kLines), std::uint64_t{1} << 63);
    before = after;
  }
}

}  // namespace
}  // namespace recordfs
