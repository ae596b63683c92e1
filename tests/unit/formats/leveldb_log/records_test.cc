// Valid logs: frames, fragments, and the bytes between them.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using namespace std::string_literals;
using Records = std::vector<std::string>;

TEST(Records, SmallRecordsOfOneFrameAreOneChunk) {
  LogWriter writer;
  for (const char* record : {"one", "", "three"}) writer.append(record);
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, (Records{"one", "", "three"}));
  ASSERT_EQ(reading.chunks.size(), 1u);
  EXPECT_EQ(reading.chunks[0].begin, 0u);
  EXPECT_EQ(reading.chunks[0].end, writer.log().size());
  EXPECT_EQ(reading.chunks[0].stored_size, 8u);
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Records, RecordSpanningFramesBelongsToTheFrameInWhichItBegins) {
  LogWriter writer;
  const Records records{"first", text(150000), "last"};
  for (const std::string& record : records) writer.append(record);
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, records);
  ASSERT_EQ(reading.chunks.size(), 2u);
  EXPECT_EQ(reading.chunks[0].records, 2u);
  EXPECT_EQ(reading.chunks[1].begin, reading.chunks[0].end);
}

class LeftOver : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, LeftOver, ::testing::Range(std::size_t{0}, std::size_t{13}));

TEST_P(LeftOver, RecordAfterBytesLeftOverInAFrameIsRead) {
  for (const std::size_t size : {0u, 1u, 300u}) {
    LogWriter writer;
    writer.fill_frame_but(GetParam());
    writer.append(text(size));
    writer.append("end");
    const Reading reading = read_log(writer.log());
    ASSERT_EQ(reading.records.size(), 3u);
    EXPECT_EQ(reading.records[1], text(size));
    EXPECT_EQ(describe(reading.damage), "");
  }
}

TEST_P(LeftOver, RecordAfterBytesLeftOverInARecycledFrameIsRead) {
  LogWriter writer({.log_number = 17});
  writer.fill_frame_but(GetParam());
  writer.append(text(300));
  writer.append("end");
  const Reading reading = read_log(writer.log());
  ASSERT_EQ(reading.records.size(), 3u);
  EXPECT_EQ(reading.records[1], text(300));
  EXPECT_EQ(describe(reading.damage), "");
}

TEST_P(LeftOver, ZerosAtTheEndOfTheFileAreNotDamage) {
  LogWriter writer;
  writer.append("one");
  writer.append_raw(std::string(GetParam(), '\0'));
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, Records{"one"});
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Records, GarbageInAFrameTrailerIsIgnored) {
  LogWriter writer;
  writer.fill_frame_but(6);
  writer.append_raw("junk!!");
  writer.append("next");
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records.size(), 2u);
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Records, EmptyFirstFragmentAtTheEndOfAFrameIsNotDamage) {
  LogWriter writer;
  writer.fill_frame_but(7);
  writer.append_raw(fragment(2, ""));
  writer.append_raw(fragment(1, "next"));
  const Reading reading = read_log(writer.log());
  ASSERT_EQ(reading.records.size(), 2u);
  EXPECT_EQ(reading.records[1], "next");
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Records, FragmentsThatEndBeforeTheirFrameFormARecord) {
  const Reading reading = read_log(fragment(2, "ab") + fragment(3, "cd") + fragment(4, "ef") + fragment(1, "g"));
  EXPECT_EQ(reading.records, (Records{"abcdef", "g"}));
}

TEST(Records, LogInsideARecordIsNotRead) {
  LogWriter inner;
  for (int i = 0; i < 5000; ++i) inner.append("inner");
  LogWriter outer;
  outer.append("before");
  outer.append(inner.log());
  outer.append("behind");
  EXPECT_EQ(read_log(outer.log()).records, (Records{"before", inner.log(), "behind"}));
}

TEST(Records, ControlFragmentsAreNotRecords) {
  const std::string log = fragment(130, std::string(24, 'p')) + fragment(1, "a") + fragment(10, std::string(6, 's')) +
                          fragment(2, "b") + fragment(10, std::string(6, 's')) + fragment(4, "c");
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, (Records{"a", "bc"}));
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Recycled, OlderFragmentsAfterTheEndAreStale) {
  LogWriter writer({.log_number = 17});
  writer.append("new");
  const std::size_t end = writer.log().size();
  writer.append_raw(fragment(5, "old", 12));
  writer.append_raw(fragment(1, "older"));
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, Records{"new"});
  EXPECT_EQ(describe(reading.damage), "[" + std::to_string(end) + "," + std::to_string(writer.log().size()) +
                                          ") stale 0: left from an earlier use of the file\n");
}

std::string log_of(std::uint32_t number, const Records& records) {
  LogWriter writer({.log_number = number});
  for (const std::string& record : records) writer.append(record);
  return writer.log();
}

bool has_note(const Container& container) {
  return std::ranges::any_of(container.traits().facts, [](const Fact& fact) { return fact.name == "note"; });
}

TEST(Recycled, RenamedLogThatWasNotYetWrittenToIsEmptyInItsDatabase) {
  const std::string log = log_of(12, {"old", text(40000)});
  const auto container = open_in_database("000017.log", log);
  ASSERT_NE(container, nullptr);
  const Reading reading = read_all(*container);
  EXPECT_TRUE(reading.records.empty());
  for (const DamagedRegion& region : reading.damage) EXPECT_EQ(region.damage_class, DamageClass::kStale);
  EXPECT_EQ(read_all(*open_in_database("000012.log", log)).records.size(), 2u);
}

TEST(Recycled, RenamedLogAloneShowsItsRecordsAndNamesTheLogThatTheyAreOf) {
  const auto container = open_log_named("000017.log", log_of(12, {"old"}));
  ASSERT_NE(container, nullptr);
  EXPECT_EQ(read_all(*container).records, Records{"old"});
  EXPECT_TRUE(has_note(*container));
  EXPECT_FALSE(has_note(*open_log_named("000012.log", log_of(12, {"old"}))));
}

TEST(Recycled, NumberOfTheFileDecidesIfTheFirstFragmentIsDamaged) {
  std::string log = log_of(17, {"damaged", "new"}) + log_of(12, {"old"});
  log[12] ^= 1;
  EXPECT_EQ(read_all(*open_log_named("000017.log", log)).records, Records{"new"});
  log = log_of(17, {"damaged"}) + log_of(12, {"old"});
  log[12] ^= 1;
  EXPECT_TRUE(read_all(*open_log_named("000017.log", log)).records.empty());
}

TEST(Recycled, RestOfAFrameAfterAnEndInsideAnOldFragmentIsStale) {
  LogWriter old({.log_number = 12});
  for (int i = 0; i < 10; ++i) old.append(text(9000));
  LogWriter writer({.log_number = 17});
  writer.append(text(5000));
  std::string log = old.log();
  log.replace(0, writer.log().size(), writer.log());
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, Records{text(5000)});
  ASSERT_FALSE(reading.damage.empty());
  EXPECT_EQ(reading.damage.front().begin, writer.log().size());
  EXPECT_EQ(reading.damage.back().end, log.size());
  for (const DamagedRegion& region : reading.damage) EXPECT_EQ(region.damage_class, DamageClass::kStale);
}

TEST(Recycled, RecordCutByOlderBytesIsUnfinished) {
  LogWriter writer({.log_number = 17});
  writer.append("a");
  writer.append_raw(fragment(6, "cut", 17));
  writer.append_raw(fragment(5, "old", 12));
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, Records{"a"});
  ASSERT_EQ(reading.damage.size(), 2u);
  EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kUnfinished);
  EXPECT_EQ(reading.damage[1].damage_class, DamageClass::kStale);
}

TEST(Recycled, RecyclableFragmentInAPlainLogIsStale) {
  const Reading reading = read_log(fragment(1, "plain") + fragment(5, "recycled", 17) + fragment(1, "after"));
  EXPECT_EQ(reading.records, (Records{"plain", "after"}));
  EXPECT_EQ(describe(reading.damage), "[12,31) stale 0: left from an earlier use of the file\n");
}

TEST(Recycled, DamagedHeadDoesNotMixUpTheNewLogWithTheOld) {
  LogWriter old({.log_number = 12});
  for (int i = 0; i < 10; ++i) old.append(text(9000));
  LogWriter writer({.log_number = 17});
  writer.append(text(5000));
  std::string log = old.log();
  log.replace(0, writer.log().size(), writer.log());
  log[5] = static_cast<char>(log[5] ^ 0x20);  // the first fragment's length
  EXPECT_TRUE(read_log(log).records.empty());
}

// Returns a fragment of Pebble with an offset. The length does not include the offset.
std::string sync_fragment(std::uint8_t type, const std::string& payload, std::uint32_t log_number) {
  std::string bytes = fragment(type, "offset.." + payload, log_number);
  bytes[4] = static_cast<char>(payload.size() & 0xff);
  bytes[5] = static_cast<char>(payload.size() >> 8);
  return bytes;
}

std::string end_mark(char log_number) { return "\0\0\0\0\0\0\5"s.append(1, log_number) + "\0\0\0"s; }

TEST(Pebble, MarkAtTheEndIsNotDamage) {
  const Reading reading = read_log(log_of(12, {"one", "two"}) + end_mark(13));
  EXPECT_EQ(reading.records, (Records{"one", "two"}));
  EXPECT_EQ(describe(reading.damage), "");
}

TEST(Pebble, LogOfAMarkAloneIsEmptyIfItsNameHasTheNumber) {
  const auto log = open_log_named("000012.log", end_mark(13));
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(read_all(*log).records.empty());
  EXPECT_EQ(describe(read_all(*log).damage), "");
  EXPECT_EQ(open_log_named("000013.log", end_mark(13)), nullptr);
}

TEST(Pebble, MarkOfAnOlderLogIsStale) {
  const Reading reading = read_log(log_of(17, {"new"}) + log_of(12, {"old"}) + end_mark(13));
  EXPECT_EQ(reading.records, Records{"new"});
  EXPECT_EQ(describe(reading.damage), "[14,39) stale 0: left from an earlier use of the file\n");
}

TEST(Pebble, FragmentsWithOffsetsAreRecords) {
  const std::string log = sync_fragment(9, "one", 12) + sync_fragment(10, "t", 12) + sync_fragment(11, "w", 12) +
                          sync_fragment(12, "o", 12) + sync_fragment(9, "old", 7) + end_mark(13);
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, (Records{"one", "two"}));
  EXPECT_EQ(describe(reading.damage), "[82,104) stale 0: left from an earlier use of the file\n");
}

TEST(Pebble, DamagedFragmentWithAnOffsetCostsItsRecordOnly) {
  std::string log;
  for (const char* record : {"one", "two", "three"}) log += sync_fragment(9, record, 12);
  log[22 + 20] ^= 1;
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, (Records{"one", "three"}));
  EXPECT_EQ(describe(reading.damage), "[22,44) damage 1: a fragment whose checksum does not match\n");
}

}  // namespace
}  // namespace recordfs::leveldb_log
