// Chunks misaligned by inserted or deleted bytes, and recordio files inside recordio items.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/unit/support/counting_source.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using testing::CountingSource;
using namespace recordio_writer;

std::string wide(char seed) { return body({text(30000, seed), text(30000, static_cast<char>(seed + 1))}); }

Items wide_items(char seed) { return {text(30000, seed), text(30000, static_cast<char>(seed + 1))}; }

Items operator+(Items a, const Items& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(MisalignedFrames, BlocksAfterInsertedBytesAreReadAtAnyOffset) {
  for (const std::size_t size : {1u, 777u, 32767u, 32769u, 40000u}) {
    const std::string file = header({}) + wide('a') + std::string(size, 'x') + wide('c') + wide('e');
    const Reading reading = read_file(file);
    EXPECT_EQ(reading.records, wide_items('a') + wide_items('c') + wide_items('e')) << size;
    EXPECT_EQ(reading.damage.size(), 1u) << size;
  }
}

TEST(MisalignedFrames, BlocksAfterDeletedBytesAreReadAtAnyOffset) {
  for (const std::size_t size : {1u, 700u, 5000u, 32767u}) {
    std::string file = header({}) + wide('a') + wide('c') + wide('e') + wide('g');
    file.erase(32768 * 3 + 10000, size);
    const Reading reading = read_file(file);
    const Items tail(reading.records.end() - 4, reading.records.end());
    EXPECT_EQ(tail, wide_items('e') + wide_items('g')) << size;
    EXPECT_FALSE(reading.damage.empty());
    EXPECT_GE(reading.records.size(), 6u);
  }
}

TEST(MisalignedFrames, BytesDeletedFromPaddingLoseNoBlock) {
  std::string file = header({}) + body({"one"}) + body({"two"}) + wide('e');
  file.erase(32768 + 1000, 100);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{"one", "two"} + wide_items('e')));
  EXPECT_EQ(reading.damage, Items{"[32801,65436) damage: a part of a chunk's padding is missing"});
}

TEST(MisalignedFrames, HeadersThatPointIntoSharedRunsScanThemOnce) {
  constexpr std::uint32_t kFrames = 200;
  constexpr std::uint32_t kTotal = 4000000000;
  const std::string gap(6 * kChunkSize, '\0');
  std::string file = header({});
  std::vector<std::uint32_t> begins;
  for (int run = 0; run < 2; ++run) {
    begins.push_back(static_cast<std::uint32_t>(file.size() / kChunkSize));
    for (std::uint32_t i = 0; i < kFrames; ++i) file += chunk({.payload = "x", .total = kTotal, .index = i});
    file += gap;
  }
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    const auto slot = static_cast<std::uint32_t>(file.size() / kChunkSize);
    std::string broken = chunk({.payload = "x", .total = kTotal + 1, .index = slot - begins[i % 2]});
    broken[28] = '!';
    file += broken + std::string(kChunkSize, '\0');
  }
  file += body({"end"});
  const auto source = std::make_shared<CountingSource>(file);
  const auto container = kFormat.open({}, source, {}).value();
  source->take_reads();
  for (std::optional<ChunkKey> at = container->traits().first; at;) at = container->scan({}, *at).value().next;
  EXPECT_LT(source->take_reads(), 20 * file.size() / kChunkSize);
}

TEST(MisalignedFrames, TruncatedUnalignedBlockEndsWithItsChunks) {
  std::string file = header({}) + "x" + wide('a') + wide('c');
  file.erase(32769 + 32768, 32768);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, Items{text(30000, 'a')} + wide_items('c'));
}

// A chunk that overlaps an aligned one may be a part of an item.
TEST(MisalignedFrames, AlignedChunkWinsOverAnUnalignedOne) {
  std::string file = header({}) + body({"one"}) + std::string(777, 'x') + body({"two"}) + body({"three"});
  file.erase(file.size() - 32768 - 2000, 777);
  file += body({"four"});
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{"one", "three", "four"}));
  EXPECT_FALSE(reading.damage.empty());
}

// Small blocks of a file inside an item have valid checksums, at any offset.
std::string nested() { return header({}) + body({"inner one"}) + body({"inner two"}); }

TEST(MisalignedFrames, FileInsideAnItemIsNotRead) {
  const Items items{text(100), nested(), text(50)};
  const Reading reading = read_file(header({}) + body(items) + body({"next"}));
  EXPECT_EQ(reading.records, (items + Items{"next"}));
  EXPECT_TRUE(reading.damage.empty());
}

TEST(MisalignedFrames, FileInsideAnItemIsNotReadIfAChunkAroundItIsBroken) {
  const Items items{text(100), nested(), text(50)};
  const std::string file = header({}) + body(items) + body({"next"});
  for (std::size_t frame = 32768; frame + 32768 < file.size(); frame += 32768) {
    for (const std::size_t at : {std::size_t{5}, std::size_t{10}, std::size_t{29}}) {
      std::string broken = file;
      broken[frame + at] = static_cast<char>(broken[frame + at] ^ 1);
      for (const std::string& record : read_file(broken).records) {
        EXPECT_FALSE(record.starts_with("inner")) << frame << " " << at;
      }
    }
  }
}

TEST(MisalignedFrames, OverlappingChunksAreReadIfNeitherContainsTheOther) {
  const std::string one = chunk({.payload = content_of({"one"})}).substr(0, 200);
  const Reading reading = read_file(header({}) + std::string(10, 'x') + one + chunk({.payload = content_of({"two"})}));
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
}

}  // namespace
}  // namespace recordfs::recordio
