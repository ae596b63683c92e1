// locate(), limits, and chunks that do not exceed the file.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using Records = std::vector<std::string>;

// Returns a log with small records, records over many frames, and a frame in which no record begins.
std::string mixed_log() {
  LogWriter writer;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 20; ++j) writer.append(text(static_cast<std::size_t>(100 * i + j)));
    writer.append(text(static_cast<std::size_t>(i) * 5000));
  }
  return writer.log();
}

void expect_agreement(const std::string& log, const Limits& limits = {}, std::size_t step = 509) {
  const auto container = open_log(log, limits);
  ASSERT_TRUE(container);
  const std::vector<ChunkInfo> chunks = read_all(*container).chunks;
  std::size_t next = 0;
  for (Position at = 0; at < log.size(); at += step) {
    while (next < chunks.size() && chunks[next].end <= at) ++next;
    const bool covered = next < chunks.size() && chunks[next].begin <= at;
    const auto found = container->locate({}, at);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->has_value(), covered) << at;
    if (!covered) continue;
    EXPECT_EQ((*found)->key, chunks[next].key);
    EXPECT_EQ((*found)->end, chunks[next].end);
    EXPECT_EQ((*found)->records, chunks[next].records);
  }
}

TEST(Locate, AgreesWithTheScanIfRecordsExceedTheLimits) { expect_agreement(mixed_log(), {.stored_chunk = 100000}); }

TEST(Limit, RecordBeyondTheStoredLimitIsOneRegionAndTheRestIsRead) {
  LogWriter writer;
  for (const std::string& record : {text(10), text(200000), text(20)}) writer.append(record);
  const Reading reading = read_log(writer.log(), {.stored_chunk = 70000});
  EXPECT_EQ(reading.records, (Records{text(10), text(20)}));
  ASSERT_FALSE(reading.damage.empty());
  std::uint64_t lost = 0;
  Position at = 17;
  for (const DamagedRegion& region : reading.damage) {
    EXPECT_EQ(region.damage_class, DamageClass::kUnsupported);
    EXPECT_EQ(region.reason, "record exceeds the limits");
    EXPECT_EQ(region.begin, at);
    at = region.end;
    lost += *region.records_lost;
  }
  EXPECT_EQ(lost, 1u);
  EXPECT_EQ(at, reading.chunks.back().begin);
}

TEST(Limit, RecordBeyondTheDecodedLimitIsRefused) {
  LogWriter writer({.zstd = true});
  for (const std::string& record : {text(10), std::string(100000, 'z'), text(20)}) writer.append(record);
  const Reading reading = read_log(writer.log(), {.decoded_chunk = 5000});
  EXPECT_EQ(reading.records, (Records{text(10), text(20)}));
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_EQ(reading.damage[0].records_lost, 1u);
}

TEST(Limit, MoreRecordsThanTheLimitAreRefused) {
  LogWriter writer;
  for (int i = 0; i < 10; ++i) writer.append("x");
  EXPECT_EQ(read_log(writer.log(), {.records_per_chunk = 4}).records.size(), 4u);
}

TEST(Limit, StepThroughALongDamagedRegionReportsProgress) {
  LogWriter writer;
  writer.append("one");
  writer.append_raw(std::string(500000, '\0'));
  const Reading reading = read_log(writer.log(), {.scan_bytes = 65536});
  EXPECT_EQ(reading.records, Records{"one"});
  EXPECT_GT(reading.steps, 4u);
}

TEST(InPlace, CompressedLogIsNotReadInPlace) {
  LogWriter writer({.zstd = true});
  writer.append("one");
  const auto container = open_log(writer.log());
  EXPECT_EQ(*container->open_in_place({}, read_all(*container).chunks.at(0)), nullptr);
}

}  // namespace
}  // namespace recordfs::leveldb_log
