// Valid files of the current format, and the cost of reading them.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

TEST(Current, BlocksAreChunksAndItemsAreRecords) {
  const Items items{"one", "", "three"};
  const Reading reading = read_file(header({}) + body(items) + body({"four"}));
  EXPECT_EQ(reading.records, (Items{"one", "", "three", "four"}));
  ASSERT_EQ(reading.chunks.size(), 3u);
  EXPECT_EQ(reading.chunks[0].kind.word(), "header");
  EXPECT_EQ(reading.chunks[1].kind.word(), "body");
  EXPECT_EQ(reading.chunks[1].begin, 32768u);
  EXPECT_EQ(reading.chunks[1].end, 65536u);
  EXPECT_EQ(reading.chunks[1].stored_size, content_of(items).size());
  EXPECT_TRUE(reading.damage.empty());
}

TEST(Current, PlainBlockDeclaresItsRecordsInItsFirstChunk) {
  const Reading reading = read_file(header({}) + body({text(40000), text(7)}));
  EXPECT_EQ(reading.chunks[1].records, 2u);
  EXPECT_EQ(reading.chunks[1].decoded_size, 40007u);
  EXPECT_EQ(reading.records, (Items{text(40000), text(7)}));
}

TEST(Current, TableMayBeLongerThanAChunk) {
  const Items items(50000, "x");
  const std::string file = header({}) + body(items);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, items);
  const auto container = open_file(file);
  EXPECT_EQ(container->layout({}, reading.chunks[1]).value().records(), 50000u);
}

TEST(Current, BlockWithoutItemsHasNoRecords) {
  const Reading reading = read_file(header({}) + body({}) + body({"a"}));
  EXPECT_EQ(reading.records, Items{"a"});
  EXPECT_EQ(reading.chunks[1].records, 0u);
  EXPECT_TRUE(reading.failures.empty());
}

TEST(Current, ShortChunksInTheMiddleOfABlockAreJoined) {
  const Items items{text(50000), text(30000, 'b')};
  const std::string file = header({}) + block(Magic::kBody, content_of(items), 10000);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, items);
  EXPECT_TRUE(reading.failures.empty());
  const auto container = open_file(file);
  const auto parts = container->open_in_place({}, reading.chunks[1]).value();
  EXPECT_EQ(as_text(parts->read({}, parts->layout().extent(1).begin + 9000, 3).value().bytes),
            items[1].substr(9000, 3));
}

TEST(Current, PaddedVarintsAreRead) {
  const std::string content =
      std::string("\x82\x80\x00", 3) + std::string("\x81\x00", 2) + std::string("\x02", 1) + "abb";
  EXPECT_EQ(read_file(header({}) + block(Magic::kBody, content)).records, (Items{"a", "bb"}));
}

TEST(Current, UnknownFlagsAreAccepted) {
  const std::string file = header({}) + chunk({.payload = content_of({"a"}), .flag = 77});
  EXPECT_EQ(read_file(file).records, Items{"a"});
}

TEST(Current, BodiesAfterATrailerAreRead) {
  const Reading reading = read_file(header({}) + body({"a"}) + block(Magic::kTrailer, content_of({"t"})) + body({"b"}));
  EXPECT_EQ(reading.records, (Items{"a", "b"}));
  EXPECT_TRUE(reading.damage.empty());
}

TEST(Current, HostileCountsAreRefusedAndTheRestIsRead) {
  for (const std::uint64_t count : {std::uint64_t{1} << 60, ~std::uint64_t{0}, std::uint64_t{1} << 30}) {
    const Reading reading = read_file(header({}) + block(Magic::kBody, varint(count) + "xx") + body({"b"}));
    EXPECT_EQ(reading.records, Items{"b"});
    ASSERT_EQ(reading.failures.size(), 1u);
    EXPECT_EQ(reading.failures[0].code, Code::kDamage);
    EXPECT_EQ(reading.failures[0].position, 32768u);
  }
}

TEST(Current, SizesWhoseSumOverflowsAreRefused) {
  const std::string content = varint(2) + varint(~std::uint64_t{0} - 5) + varint(20) + "0123456789";
  const Reading reading = read_file(header({}) + block(Magic::kBody, content) + body({"b"}));
  EXPECT_EQ(reading.records, Items{"b"});
  EXPECT_EQ(reading.failures.at(0).code, Code::kDamage);
}

TEST(Current, MoreItemsThanTheLimitAreRefused) {
  Limits limits;
  limits.records_per_chunk = 2;
  const Reading reading = read_file(header({}) + body({"a", "b", "c"}) + body({"d", "e"}), limits);
  EXPECT_EQ(reading.records, (Items{"d", "e"}));
  EXPECT_EQ(reading.failures.at(0).code, Code::kLimit);
}

TEST(Current, ItemsThatDoNotFillTheirBlockAreDamage) {
  for (const std::string& content : {varint(1) + varint(2) + "abc", varint(1) + varint(4) + "abc", std::string()}) {
    const Reading reading = read_file(header({}) + block(Magic::kBody, content) + body({"b"}));
    EXPECT_EQ(reading.records, Items{"b"});
    EXPECT_EQ(reading.failures.at(0).code, Code::kDamage);
  }
}

}  // namespace
}  // namespace recordfs::recordio
