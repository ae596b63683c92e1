// Records and damage of invalid logs.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using Records = std::vector<std::string>;

std::string flipped(std::string log, std::size_t at) {
  log.at(at) = static_cast<char>(log.at(at) ^ 1);
  return log;
}

// "aa" at 0, "bbbb" at 9, "cc" at 20; 29 bytes.
std::string three() {
  LogWriter writer;
  for (const char* record : {"aa", "bbbb", "cc"}) writer.append(record);
  return writer.log();
}

TEST(Damage, FlippedPayloadLosesOnlyItsRecord) {
  const Reading reading = read_log(flipped(three(), 16));
  EXPECT_EQ(reading.records, (Records{"aa", "cc"}));
  EXPECT_EQ(describe(reading.damage), "[9,20) damage 1: a fragment whose checksum does not match\n");
  EXPECT_EQ(reading.damage[0].records_before, 1u);
}

TEST(Damage, FlippedLengthLosesOnlyItsRecord) {
  for (const std::size_t byte : {9u + 4, 9u + 5}) {
    const Reading reading = read_log(flipped(three(), byte));
    EXPECT_EQ(reading.records, (Records{"aa", "cc"}));
    EXPECT_EQ(describe(reading.damage), "[9,20) damage 1: a fragment whose length is wrong\n");
  }
}

// A log inside a record is a sequence of valid headers that a wrong length may point to.
TEST(Damage, FlippedLengthDoesNotLeadIntoALogInsideTheRecord) {
  LogWriter inner;
  for (int i = 0; i < 60; ++i) inner.append("");
  for (int bit = 0; bit < 16; ++bit) {
    LogWriter writer;
    writer.append(std::string(3, 'x') + inner.log());
    writer.append("next");
    std::string log = writer.log();
    log[static_cast<std::size_t>(4 + bit / 8)] =
        static_cast<char>(log[static_cast<std::size_t>(4 + bit / 8)] ^ 1 << bit % 8);
    EXPECT_EQ(read_log(log).records, Records{"next"}) << bit;
  }
}

// The record "bbbb" of three() has a wrong length and a wrong payload, so its end is unknown.
TEST(Damage, ScanResumesInTheSameFrameAfterAFragmentWithAWrongLength) {
  LogWriter writer;
  for (const char* record : {"aa", "bbbb", "cc"}) writer.append(record);
  writer.fill_frame_but(0);
  writer.append("next");
  const Reading reading = read_log(flipped(flipped(writer.log(), 9 + 4), 17));
  ASSERT_EQ(reading.records.size(), 4u);
  EXPECT_EQ(reading.records[1], "cc");
  EXPECT_EQ(reading.records[3], "next");
  EXPECT_EQ(describe(reading.damage), "[9,20) damage ?: a fragment whose checksum does not match\n");
}

TEST(Damage, LengthBeyondTheFrameIsNotATornTail) {
  std::string log = flipped(three(), 16);
  log[9 + 5] = '\xff';
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, (Records{"aa", "cc"}));
  EXPECT_EQ(describe(reading.damage), "[9,20) damage ?: a fragment whose length is past the end of its frame\n");
}

// The inner fragments chain to the end of the inner log, but not to the end of the frame.
TEST(Damage, LogInsideALostRecordYieldsNoRecords) {
  LogWriter inner;
  for (int i = 0; i < 60; ++i) inner.append("inner");
  LogWriter writer;
  writer.append(inner.log() + "xyz");
  writer.append("next");
  const Reading reading = read_log(std::string(7, '\x7f') + writer.log().substr(7));
  EXPECT_EQ(reading.records, Records{"next"});
}

// The fragments at the end of the lost record chain like the log itself, but contain no batch.
TEST(Damage, FragmentsAtTheEndOfALostBatchYieldNoRecords) {
  const auto batch = [](char sequence, const std::string& value) {
    return sequence + std::string("\0\0\0\0\0\0\0\1\0\0\0\1\1k", 14) + static_cast<char>(value.size()) + value;
  };
  LogWriter writer;
  writer.append(batch(1, "v"));
  const std::size_t second = writer.log().size();
  writer.append(batch(2, fragment(1, "decoy") + fragment(1, "decoy")));
  writer.append(batch(3, "v"));
  std::string log = writer.log();
  log.replace(second, 7, 7, '\x7f');
  EXPECT_EQ(read_log(log).records, (Records{batch(1, "v"), batch(3, "v")}));
}

// The frames after the deletion end three bytes before those of the file.
TEST(Damage, DeletedBytesLoseNoLaterRecord) {
  LogWriter writer;
  for (int i = 0; i < 40; ++i) writer.append(text(3000 + 100 * static_cast<std::size_t>(i)));
  const Reading whole = read_log(writer.log());
  for (const std::size_t at : {100u, 40000u}) {
    const Reading reading = read_log(std::string(writer.log()).erase(at, 3));
    EXPECT_EQ(reading.records.size(), 39u) << at;
    EXPECT_TRUE(std::ranges::includes(whole.records, reading.records, [](const auto& a, const auto& b) {
      return a.size() < b.size();
    })) << at;
    EXPECT_FALSE(reading.damage.empty());
  }
}

TEST(Damage, InsertedBytesLoseNoLaterRecord) {
  LogWriter writer;
  for (int i = 0; i < 40; ++i) writer.append(text(3000 + 100 * static_cast<std::size_t>(i)));
  for (const std::size_t size : {1u, 20000u, 40000u}) {
    const Reading reading = read_log(std::string(writer.log()).insert(3007, std::string(size, '\x55')));
    EXPECT_EQ(reading.records, read_log(writer.log()).records) << size;
    EXPECT_FALSE(reading.damage.empty());
  }
}

TEST(Damage, LogWithoutItsFirstBytesIsRead) {
  LogWriter writer;
  for (int i = 0; i < 40; ++i) writer.append(text(3000));
  EXPECT_EQ(read_log(writer.log().substr(1000)).records.size(), 39u);
}

// RocksDB's trailers are as long as the header that did not fit: ten zeros before a wide header.
TEST(Damage, LogWithoutItsFirstBytesAndWithLongTrailersIsRead) {
  LogWriter writer({.log_number = 7});
  for (int i = 0; i < 40; ++i) {
    writer.append(text(3000));
    if (i % 8 == 7) writer.fill_frame_but(10);
  }
  EXPECT_EQ(read_log(writer.log().substr(1000)).records.size(), 44u);
}

// Only older logs are overwritten. So a number above the log's own, not confirmed by a checksum, is damage.
TEST(Damage, TruncatedFragmentIsStaleOnlyIfItsLogNumberIsLower) {
  for (const std::uint32_t number : {6u, 8u}) {
    LogWriter writer({.log_number = 7});
    writer.append("aa");
    const Reading reading = read_log(writer.log() + fragment(5, "bbbb", number).substr(0, 13));
    EXPECT_EQ(reading.records, Records{"aa"});
    EXPECT_EQ(describe(reading.damage), number < 7 ? "[13,26) stale 0: left from an earlier use of the file\n"
                                                   : "[13,26) unfinished 1: the file ends inside a record\n");
  }
}

TEST(Damage, TailTornAfterCompleteFragmentsIsOneUnfinishedRegion) {
  LogWriter writer;
  writer.append("aa");
  writer.append(text(70000));
  const Reading reading = read_log(std::string_view(writer.log()).substr(0, 66000));
  EXPECT_EQ(reading.records, Records{"aa"});
  EXPECT_EQ(describe(reading.damage).substr(0, 9), "[9,65536)");
  for (const DamagedRegion& region : reading.damage) EXPECT_EQ(region.damage_class, DamageClass::kUnfinished);
  EXPECT_EQ(reading.damage.back().end, 66000u);
}

TEST(Damage, SingleEmptyFirstFragmentIsUnfinished) {
  const Reading reading = read_log(fragment(2, ""));
  EXPECT_EQ(describe(reading.damage), "[0,7) unfinished 1: the file ends inside a record\n");
}

TEST(Damage, RecordWithoutItsEndIsOneRegion) {
  const Reading reading = read_log(fragment(2, "ab") + fragment(3, "cd") + fragment(1, "e"));
  EXPECT_EQ(reading.records, Records{"e"});
  EXPECT_EQ(describe(reading.damage), "[0,18) damage 1: a record without its end\n");
}

TEST(Damage, FirstFragmentAfterAFirstFragmentStartsANewRecord) {
  const Reading reading = read_log(fragment(2, "ab") + fragment(2, "cd") + fragment(4, "e"));
  EXPECT_EQ(reading.records, Records{"cde"});
  EXPECT_EQ(describe(reading.damage), "[0,9) damage 1: a record without its end\n");
}

TEST(Damage, FragmentsWithoutAFirstAreOneRegion) {
  const Reading reading = read_log(fragment(3, "ab") + fragment(3, "cd") + fragment(4, "e") + fragment(1, "f"));
  EXPECT_EQ(reading.records, Records{"f"});
  EXPECT_EQ(describe(reading.damage), "[0,26) damage ?: pieces of a record without its beginning\n");
}

TEST(Damage, LostMiddleFragmentLosesOnlyItsRecord) {
  LogWriter writer;
  writer.append(text(100000));
  writer.append("next");
  const Reading reading = read_log(flipped(writer.log(), 40000));
  EXPECT_EQ(reading.records, Records{"next"});
  EXPECT_EQ(describe(reading.damage),
            "[0,32768) damage 1: a record without its end\n"
            "[32768,65536) damage ?: a fragment whose checksum does not match\n"
            "[65536,100028) damage ?: pieces of a record without its beginning\n");
}

TEST(Damage, UnknownTypeIsSkippedAndReported) {
  for (const std::uint8_t type : std::initializer_list<std::uint8_t>{0, 9, 12, 77}) {
    const Reading reading = read_log(fragment(1, "a") + fragment(type, "????") + fragment(1, "b"));
    EXPECT_EQ(reading.records, (Records{"a", "b"}));
    EXPECT_EQ(describe(reading.damage), "[8,19) unsupported ?: unknown fragment type " + std::to_string(type) + "\n");
  }
}

// The reference stops at type 5 and ignores type 6, because its own markers share these numbers.
TEST(Damage, RecyclableTypeInAShortHeaderIsAnUnknownType) {
  for (const std::uint8_t type : std::initializer_list<std::uint8_t>{5, 6, 7, 8, 11, 131}) {
    const Reading reading = read_log(fragment(1, "a") + fragment(type, text(900)) + fragment(1, "b"));
    EXPECT_EQ(reading.records, (Records{"a", "b"}));
    ASSERT_EQ(reading.damage.size(), 1u);
    EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kUnsupported);
  }
}

TEST(Damage, IgnorableTypeInsideARecordKeepsTheRecord) {
  const Reading reading = read_log(fragment(2, "a") + fragment(200, "xx") + fragment(4, "b") + fragment(1, "c"));
  EXPECT_EQ(reading.records, (Records{"ab", "c"}));
  EXPECT_EQ(describe(reading.damage), "[8,17) unsupported 0: unknown fragment type 200\n");
}

TEST(Damage, IgnorableTypeInsideALostRecordIsPartOfItsRegion) {
  const Reading reading = read_log(fragment(2, "a") + fragment(200, "xx") + fragment(1, "c"));
  EXPECT_EQ(describe(reading.damage), "[0,17) damage 1: a record without its end\n");
}

TEST(Damage, RecordsAfterZerosInAFrameAreRead) {
  LogWriter writer;
  writer.append("one");
  writer.append_raw(std::string(500, '\0'));
  writer.append("hidden");
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, (Records{"one", "hidden"}));
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_EQ(reading.damage[0].begin, 10u);
  EXPECT_EQ(reading.damage[0].end, 510u);
}

TEST(Damage, GarbageAfterZerosIsReported) {
  LogWriter writer;
  writer.append("one");
  writer.append_raw(std::string(500, '\0') + "junk behind zeros");
  const Reading reading = read_log(writer.log());
  EXPECT_EQ(reading.records, Records{"one"});
  EXPECT_EQ(describe(reading.damage), "[10,527) damage ?: filling that contains bytes that are not a fragment\n");
}

TEST(Damage, TypeFlippedToZeroDoesNotHideLaterRecords) {
  LogWriter writer;
  for (const char* record : {"", "", "end"}) writer.append(record);
  const Reading reading = read_log(flipped(writer.log(), 6 + 7));
  EXPECT_EQ(reading.records, (Records{"", "end"}));
  EXPECT_EQ(reading.damage.size(), 1u);
}

TEST(Damage, ZeroedFrameLosesTheRecordThatSpansIt) {
  LogWriter writer;
  writer.append(text(100000));
  writer.append("next");
  std::string log = writer.log();
  log.replace(32768, 32768, 32768, '\0');
  const Reading reading = read_log(log);
  EXPECT_EQ(reading.records, Records{"next"});
  EXPECT_EQ(reading.damage.size(), 2u);
}

TEST(Damage, HeadersInsideALostPayloadAreIgnored) {
  LogWriter inner;
  inner.append("inner");
  LogWriter writer;
  writer.append("one");
  std::string lost = fragment(1, "xxxx" + inner.log());
  lost[4] = static_cast<char>(lost[4] + 1);  // its length
  lost[7] = 'y';                             // its payload
  writer.append_raw(lost);
  EXPECT_EQ(read_log(writer.log()).records, Records{"one"});
}

}  // namespace
}  // namespace recordfs::leveldb_log
