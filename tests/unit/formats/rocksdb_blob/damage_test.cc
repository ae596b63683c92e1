// Damaged and truncated blob files: only the damaged record is lost.
#include <gtest/gtest.h>

#include "tests/unit/formats/rocksdb_blob/files.h"

namespace recordfs::rocksdb_blob {
namespace {

using Records = std::vector<std::string>;

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x20);
  return bytes;
}

const std::string kFirst = shown("a", "one");
const std::string kSecond = shown("b", "second");
const std::string kThird = shown("c", "3");
const std::string kThree = head() + record("a", "one") + record("b", "second") + record("c", "3") + footer(3);
constexpr std::size_t kSecondBegin = 66;
constexpr std::size_t kThirdBegin = 105;
constexpr std::size_t kFooterBegin = 139;

TEST(DamagedBlobFile, HeaderWithOneWrongByteIsOneDamagedRegion) {
  for (std::size_t at = kSecondBegin; at < kSecondBegin + 28; ++at) {
    const Reading all = read_bytes(flipped(kThree, at));
    EXPECT_EQ(all.records, (Records{kFirst, kThird})) << at;
    ASSERT_EQ(all.damage.size(), 1u);
    EXPECT_EQ(all.damage[0].begin, kSecondBegin);
    EXPECT_EQ(all.damage[0].end, kThirdBegin);
    EXPECT_EQ(all.damage[0].records_lost, 1u);
  }
}

TEST(DamagedBlobFile, HeaderWithOneWrongByteHidesNoRecordsInsideItsValue) {
  const std::string inner = head() + record("in", "side") + record("in", "side too") + footer(2);
  const std::string file = head() + record("a", "one") + record("b", inner) + record("c", "3") + footer(3);
  EXPECT_EQ(read_bytes(flipped(file, kSecondBegin)).records, (Records{kFirst, kThird}));
}

TEST(DamagedBlobFile, NextRecordIsSearchedForAfterAnyOtherHeader) {
  const Reading all = read_bytes(flipped(flipped(kThree, kSecondBegin), kSecondBegin + 9));
  EXPECT_EQ(all.records, (Records{kFirst, kThird}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end, kThirdBegin);
  EXPECT_FALSE(all.damage[0].records_lost);
}

TEST(DamagedBlobFile, LastRecordWithADamagedHeaderEndsAtTheFooter) {
  const Reading all = read_bytes(flipped(flipped(kThree, kThirdBegin), kThirdBegin + 9));
  EXPECT_EQ(all.records, (Records{kFirst, kSecond}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end, kFooterBegin);
}

// Its sizes point into a later record.
TEST(DamagedBlobFile, RecordWithDeletedBytesHidesNoOther) {
  for (const std::size_t lost : {1u, 5u, 50u, 90u}) {
    std::string file = head() + record("a", "one") + record("b", std::string(100, 'x'));
    for (int i = 0; i < 9; ++i) file += record("c", "record " + std::to_string(i));
    const Reading all = read_bytes((file + footer(11)).erase(kSecondBegin + 40, lost));
    ASSERT_EQ(all.records.size(), 10u) << lost;
    EXPECT_EQ(all.records[1], shown("c", "record 0"));
    ASSERT_EQ(all.damage.size(), 1u);
    EXPECT_EQ(all.damage[0].begin, kSecondBegin);
    EXPECT_EQ(all.damage[0].end, kSecondBegin + 32 + 101 - lost);
    EXPECT_EQ(all.damage[0].records_lost, 1u);
  }
}

TEST(DamagedBlobFile, RecordWithInsertedBytesHidesNoOther) {
  const Reading all = read_bytes(std::string(kThree).insert(kSecondBegin + 35, "inserted"));
  EXPECT_EQ(all.records, (Records{kFirst, "!", kThird}));
  EXPECT_EQ(all.damage.size(), 1u);
}

// The record takes the first byte of the footer.
TEST(DamagedBlobFile, LastRecordWithDeletedBytesLosesNoOther) {
  const Reading all = read_bytes(std::string(kThree).erase(kThirdBegin + 32, 1));
  EXPECT_EQ(all.records, (Records{kFirst, kSecond, "!"}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, kFooterBegin);
}

// A value ends with the footer of a blob file, and is the last thing that was written.
TEST(DamagedBlobFile, FooterInsideAValueIsNoFooter) {
  const std::string inner = head() + record("in", "side") + footer(1);
  const std::string file = head() + record("a", "one") + record("b", inner);
  const Reading all = read_bytes(file);
  EXPECT_EQ(all.records, (Records{kFirst, shown("b", inner)}));
  EXPECT_TRUE(all.damage.empty());
  const Reading torn =
      read_bytes(head() + record("a", "one") + sizes(1, 500) + checksum(sizes(1, 500)) + "crc_b" + inner);
  EXPECT_EQ(torn.records, (Records{kFirst}));
  ASSERT_EQ(torn.damage.size(), 1u);
  EXPECT_EQ(torn.damage[0].damage_class, DamageClass::kUnfinished);
}

// The records inside the value end where it ends.
TEST(DamagedBlobFile, DamagedRecordBeforeADamagedHeaderHidesNoRecordsInsideItsValue) {
  const std::string inner = "x" + record("in", "side") + record("in", "side too");
  const std::string outer = record("b", inner);
  const std::string file = head() + record("a", "one") + outer + record("b", "second") + record("c", "3") + footer(4);
  const std::size_t next = kSecondBegin + outer.size();
  const std::string hit = flipped(flipped(flipped(file, kSecondBegin + 33), next), next + 9);
  EXPECT_EQ(read_bytes(hit).records, (Records{kFirst, "!", kThird}));
}

TEST(DamagedBlobFile, SearchContinuesInTheNextStep) {
  Limits limits;
  limits.scan_bytes = 1000;
  const Reading all =
      read_bytes(head() + record("a", "one") + std::string(500000, '\0') + record("c", "3") + footer(2), limits);
  EXPECT_EQ(all.records, (Records{kFirst, kThird}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end - all.damage[0].begin, 500000u);
}

// --- header and footer

TEST(DamagedBlobFile, RecordsAreUnreadableWithoutTheHeaderThatStatesTheirCompression) {
  const Reading all = read_bytes(std::string(30, '\0') + kThree.substr(30));
  EXPECT_EQ(all.records, (Records{"!", "!", "!"}));
  for (const Error& error : all.errors) EXPECT_NE(error.detail.find("header"), std::string::npos) << error.detail;
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end, 30u);
}

TEST(DamagedBlobFile, BytesAfterTheFooterAreARegionWithIt) {
  const Reading all = read_bytes(kThree + "more");
  EXPECT_EQ(all.records.size(), 3u);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, kFooterBegin);
  EXPECT_EQ(all.damage[0].end, kThree.size() + 4);
}

}  // namespace
}  // namespace recordfs::rocksdb_blob
