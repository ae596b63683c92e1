// The cost of reading a part of a large item in place.

#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/unit/support/counting_source.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using testing::CountingSource;
using namespace recordio_writer;

struct Large {
  std::string item = text(10 << 20);
  std::shared_ptr<CountingSource> source = std::make_shared<CountingSource>(header({}) + body({"first", item, "last"}));
  std::unique_ptr<Container> container = kFormat.open({}, source, Limits{}).value();
  ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
};

TEST(InPlace, ScanReadsHeadersAndTheFirstChunk) {
  const Large large;
  large.source->take_read_bytes();
  const Step step = large.container->scan({}, {32768, 0}).value();
  EXPECT_EQ(step.chunk->records, 3u);
  EXPECT_LT(large.source->take_read_bytes(), 32768u + 28 * 330);
}

TEST(InPlace, PartReadsOnlyTheChunksItTouches) {
  const Large large;
  large.source->take_read_bytes();
  const auto chunk = large.container->open_in_place({}, large.chunk).value();
  EXPECT_LE(large.source->take_read_bytes(), 32768u);
  EXPECT_LT(chunk->memory(), 1000u);
  const Extent extent = chunk->layout().extent(1);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{32740}, extent.size - 4096}) {
    const auto slice = chunk->read({}, extent.begin + offset, 4096);
    EXPECT_EQ(as_text(slice.value().bytes), large.item.substr(offset, 4096));
    EXPECT_LE(large.source->take_read_bytes(), 2 * 32768u);
  }
}

TEST(InPlace, NeededChunksAreReadInOneReadAndNoOthers) {
  const Large large;
  const auto chunk = large.container->open_in_place({}, large.chunk).value();
  const Extent extent = chunk->layout().extent(1);
  large.source->take_reads();
  large.source->take_read_bytes();
  EXPECT_EQ(as_text(chunk->read({}, extent.begin, 1 << 20).value().bytes), large.item.substr(0, 1 << 20));
  EXPECT_EQ(large.source->take_read_bytes(), 33 * 32768u);
  EXPECT_EQ(large.source->take_reads(), 9u);
}

TEST(InPlace, EachChunkIsVerifiedOnEveryRead) {
  const Large large;
  const auto chunk = large.container->open_in_place({}, large.chunk).value();
  EXPECT_TRUE(chunk->read({}, 1000000, 10));
  large.source->bytes()[32768 + 1000000] ^= 1;
  EXPECT_EQ(chunk->read({}, 1000000, 10).error().code, Code::kDamage);
  EXPECT_TRUE(chunk->read({}, 5000000, 10));
}

TEST(InPlace, BlockBeyondTheLimitsIsReadInPlace) {
  const Large large;
  Limits limits;
  limits.stored_chunk = 1 << 20;
  const auto container = kFormat.open({}, large.source, limits).value();
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->decode({}, chunk).error().code, Code::kLimit);
  EXPECT_TRUE(container->open_in_place({}, chunk).value()->read({}, 9000000, 10));
}

TEST(InPlace, TransformedBlockIsNotReadInPlace) {
  const auto container = open_file(header_with({"flate"}) + body({"not flate"}));
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->open_in_place({}, chunk).value(), nullptr);
}

TEST(InPlace, TrailerAndHeaderTakeTheSameReadsAtAnySize) {
  const std::string head = header({{string_value("trailer"), bool_value(true)}});
  for (const int blocks : {1, 300}) {
    std::string file = head;
    for (int i = 0; i < blocks; ++i) file += body({"x"});
    const auto source = std::make_shared<CountingSource>(file + block(Magic::kTrailer, content_of({"end"})));
    const auto container = kFormat.open({}, source, Limits{}).value();
    EXPECT_EQ(as_text(container->trailer()->operator()({}).value().view()), "end");
    EXPECT_LT(source->take_read_bytes(), 8 * 32768u);
  }
}

}  // namespace
}  // namespace recordfs::recordio
