#include <gtest/gtest.h>

#include "tests/unit/formats/tfrecord/files.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::tfrecord {
namespace {

using Records = std::vector<std::string>;

int bid(const std::string& bytes, ProbeDepth depth, std::string_view name = "x") {
  return *kFormat.probe({}, *source_of(bytes), name, depth);
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x20);
  return bytes;
}

const std::string kThree = framed("one") + framed("second") + framed("3");
constexpr std::size_t kSecond = 19;  // begin of its header
constexpr std::size_t kThird = 41;

TEST(PlainTFRecord, EmptyFileIsRecognizedByItsNameOnly) {
  for (const char* name :
       {"a.tfrecord", "a.tfrecords", "a.tfrecord.gz", "train-00000-of-00010", "a.tfrecord-00001-of-00002",
        "events.out.tfevents.1611911647.host", "a.tfrecord-00001-of-00002.gz"}) {
    EXPECT_EQ(bid("", ProbeDepth::kHead, name), 1) << name;
  }
  for (const char* name : {"a.txt", "tfrecord", "-00000-of-00010", "train-0000-of-00010", "a.gz"}) {
    EXPECT_EQ(bid("", ProbeDepth::kHead, name), 0) << name;
  }
}

TEST(PlainTFRecord, FileIsRecognizedByItsChecksums) {
  EXPECT_EQ(bid(kThree, ProbeDepth::kHead), 64);
  EXPECT_EQ(bid(kThree.substr(0, 13), ProbeDepth::kHead), 32);
  EXPECT_EQ(bid(flipped(kThree, 13), ProbeDepth::kHead), 32);
  EXPECT_EQ(bid(flipped(kThree, 0), ProbeDepth::kHead), 0);
  EXPECT_EQ(bid(flipped(kThree, 0), ProbeDepth::kSearch), 24);
  EXPECT_EQ(bid("text that is longer than a header", ProbeDepth::kSearch), 0);
}

TEST(PlainTFRecord, ChunksHoldRecordsUpTo256KiB) {
  const std::string large(200 << 10, 'x');
  const Reading all =
      read_bytes(framed("a") + framed(large) + framed(large) + framed(std::string(300 << 10, 'y')) + framed("z"));
  ASSERT_EQ(all.chunks.size(), 4u);
  EXPECT_EQ(all.chunks[0].records, 2u);
  EXPECT_EQ(all.chunks[2].decoded_size, 300u << 10);
  EXPECT_EQ(all.records.size(), 5u);
  EXPECT_TRUE(all.damage.empty());
}

TEST(PlainTFRecord, HeaderWithOneWrongByteIsOneDamagedRegion) {
  for (std::size_t at = kSecond; at < kSecond + 12; ++at) {
    const Reading all = read_bytes(flipped(kThree, at));
    EXPECT_EQ(all.records, (Records{"one", "3"})) << at;
    ASSERT_EQ(all.damage.size(), 1u);
    EXPECT_EQ(all.damage[0].begin, kSecond);
    EXPECT_EQ(all.damage[0].end, kThird);
    EXPECT_EQ(all.damage[0].records_lost, 1u);
  }
}

TEST(PlainTFRecord, HeaderWithOneWrongByteHidesNoRecordsInsideItsData) {
  const std::string file = framed("one") + framed(framed("in") + framed("side")) + framed("two");
  EXPECT_EQ(read_bytes(flipped(file, kSecond)).records, (Records{"one", "two"}));
}

TEST(PlainTFRecord, NextRecordIsSearchedForAfterAnyOtherHeader) {
  const Reading all = read_bytes(flipped(flipped(kThree, kSecond), kSecond + 9));
  EXPECT_EQ(all.records, (Records{"one", "3"}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end, kThird);
  EXPECT_FALSE(all.damage[0].records_lost);
}

// Its length points into a later record: anywhere, or to eight bytes of data that look like a header.
TEST(PlainTFRecord, RecordWithDeletedBytesHidesNoOther) {
  for (const std::size_t lost : {std::size_t{50}, std::size_t{60}}) {
    std::string file = framed("one") + framed(std::string(100, 'x'));
    const std::size_t second = framed("one").size();
    for (int i = 0; i < 9; ++i) file += framed("record " + std::to_string(i));
    const Reading all = read_bytes(file.erase(second + 30, lost));
    ASSERT_EQ(all.records.size(), 10u) << lost;
    EXPECT_EQ(all.records[1], "record 0");
    ASSERT_EQ(all.damage.size(), 1u);
    EXPECT_EQ(all.damage[0].begin, second);
    EXPECT_EQ(all.damage[0].end, second + 100 + 16 - lost);
  }
}

// The records inside the data end where it ends.
TEST(PlainTFRecord, DamagedRecordBeforeADamagedHeaderHidesNoRecordsInsideItsData) {
  const std::string file = framed("one") + framed("x" + framed("in") + framed("side")) + framed("two") + framed("3");
  const std::size_t third = file.size() - framed("3").size() - framed("two").size();
  const std::string hit = flipped(flipped(flipped(file, framed("one").size() + 12), third), third + 9);
  EXPECT_EQ(read_bytes(hit).records, (Records{"one", "!", "3"}));
}

TEST(PlainTFRecord, SearchContinuesInTheNextStep) {
  Limits limits;
  limits.scan_bytes = 1000;
  const Reading all = read_bytes(framed("one") + std::string(500000, '\0') + framed("two"), limits);
  EXPECT_EQ(all.records, (Records{"one", "two"}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end - all.damage[0].begin, 500000u);
}

// Each header claims half of the file, and its checksum is right. A search that compared all of that with the checksum
// for each header would read the file tens of thousands of times.
TEST(PlainTFRecord, FalseHeadersAreNotAllCompared) {
  const std::string header = with_checksum(number(512u << 10, 8));
  std::string bytes = framed("one") + std::string(header.size(), 'x');
  while (bytes.size() < 1u << 20) bytes += header;
  const auto source = std::make_shared<testing::CountingSource>(bytes);
  const auto container = kFormat.open({}, source, Limits{});
  ASSERT_TRUE(container);
  EXPECT_EQ(testing::scan_all(**container).chunks.size(), 1u);
  EXPECT_LT(source->take_read_bytes(), 200 * bytes.size());
  const Reading some = read_bytes(framed("one") + std::string(header.size(), 'x') + header + header + framed("two"));
  EXPECT_EQ(some.records, (Records{"one", "two"}));
}

}  // namespace
}  // namespace recordfs::tfrecord
