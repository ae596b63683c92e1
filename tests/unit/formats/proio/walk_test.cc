// Scans of consecutive buckets, in complete and incomplete files.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/formats/proio/format.h"
#include "core/formats/proio/wire.h"
#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::proio {
namespace {

using testing::CountingSource;
using Strings = std::vector<std::string>;

const std::string kOne = bucket({.events = {"one", "", "three"}});
const std::string kTwo = bucket({.events = {"four"}});

TEST(Walk, OnlyMissingEventsFail) {
  const Reading reading = read_bytes(bucket({.events = {"aaaaaaaaaaaaaaaa", "b"}, .stated_events = 4}) + kTwo);
  const std::string missing = "!event 2 of the 4 in the bucket does not fit into it";
  EXPECT_EQ(reading.events, (Strings{"aaaaaaaaaaaaaaaa", "b", missing, missing, "four"}));
}

TEST(Walk, ImpossibleCountIsDamageOfTheHeader) {
  for (const std::uint64_t count : {std::uint64_t{100}, std::uint64_t{1} << 60, ~std::uint64_t{1}}) {
    const Reading reading = read_bytes(bucket({.events = {"a"}, .stated_events = count}) + kTwo);
    EXPECT_EQ(reading.events, Strings{"four"});
    ASSERT_EQ(reading.damage.size(), 1u);
    EXPECT_EQ(reading.damage[0].end + kTwo.size(),
              bucket({.events = {"a"}, .stated_events = count}).size() + kTwo.size());
    EXPECT_NE(reading.damage[0].reason.find(std::to_string(count)), std::string::npos);
  }
}

TEST(Walk, CountOfAnUnknownCompressionIsBoundedByTheLimits) {
  const auto shape = [](std::uint64_t count) {
    return BucketShape{.payload = "?", .stated_events = count, .compression = 7};
  };
  EXPECT_EQ(read_bytes(bucket(shape(1u << 30))).damage.size(), 1u);
  const Reading reading = read_bytes(bucket(shape(2)) + kTwo);
  EXPECT_EQ(reading.events, (Strings{"!unknown compression 7", "!unknown compression 7", "four"}));
  EXPECT_EQ(reading.buckets[0].codec, "unknown");
}

TEST(Walk, GarbageIsSkippedUpToTheNextBucket) {
  for (const std::string& garbage : {std::string("x"), std::string("\xe1"), magic().substr(0, 9), magic() + "\xff\xff",
                                     std::string(70000, '\0'), std::string(65536 - 8, 'x')}) {
    const Reading reading = read_bytes(kOne + garbage + kTwo);
    EXPECT_EQ(reading.events, (Strings{"one", "", "three", "four"})) << garbage.size();
    ASSERT_EQ(reading.damage.size(), 1u);
    EXPECT_EQ(reading.damage[0].begin, kOne.size());
    EXPECT_EQ(reading.damage[0].end, kOne.size() + garbage.size());
    EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kDamage);
  }
}

TEST(Walk, LongSearchTakesSeveralSteps) {
  Limits limits;
  limits.scan_bytes = 4096;
  const std::string garbage(1 << 20, 'x');
  const Reading reading = read_bytes(kOne + garbage + kTwo, limits);
  EXPECT_EQ(reading.events.size(), 4u);
  EXPECT_EQ(reading.damage.size(), 1u);
  EXPECT_GT(reading.steps, 10u);
}

// False headers that each begin with a field, in a group or not, that skips to fields which all of them share.
TEST(Walk, FalseHeadersThatShareTheirFieldsAreNotParsedToTheirEnd) {
  constexpr std::size_t kFalseHeaders = 4000, kFields = 1 << 18;
  std::string shared;
  for (std::size_t i = 0; i < kFields; ++i) shared += "\x78\x01";
  for (const std::string& lead : {std::string("\x7a"), std::string("\x23\x7a")}) {
    const std::string front = magic() + "\xff\xff\xff\x7f" + lead;
    std::string garbage;
    for (std::size_t left = kFalseHeaders; left-- > 0;) {
      const std::size_t jump = left * (front.size() + 3);
      garbage += front;
      for (const int shift : {0, 7, 14}) garbage += static_cast<char>((jump >> shift & 0x7f) | (shift < 14 ? 0x80 : 0));
    }
    const auto source = std::make_shared<CountingSource>(kOne + garbage + shared + '\0' + kTwo);
    const auto container = kFormat.open({}, source, {}).value();
    const Reading reading = read_all(*container, source->size());
    EXPECT_EQ(reading.events, (Strings{"one", "", "three", "four"}));
    EXPECT_EQ(reading.damage.size(), 1u);
    ASSERT_LT(source->take_read_bytes(), 500 * source->size());
  }
}

TEST(Walk, MagicInMetadataOfABrokenHeaderIsNotABucket) {
  const BucketShape broken{.events = {"x"}, .metadata = {{"stream", kOne}}, .more_header = "\x0f"};
  EXPECT_EQ(read_bytes(bucket(broken) + kTwo).events, Strings{"four"});
}

TEST(Walk, HeaderSizeBeyondTheFileIsDamageIfABucketFollows) {
  std::string broken = bucket({.events = {"x"}});
  broken[16] = broken[17] = broken[18] = broken[19] = '\xff';
  const Reading reading = read_bytes(kOne + broken + kTwo);
  EXPECT_EQ(reading.events, (Strings{"one", "", "three", "four"}));
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kDamage);
}

TEST(Walk, PayloadSizeBeyondTheFileEndsAtTheNextBucket) {
  for (const std::uint64_t size : {std::uint64_t{1} << 40, (std::uint64_t{1} << 63) + 5, ~std::uint64_t{1}}) {
    const std::string broken = bucket({.events = {"x", kOne}, .stated_size = size});
    const Reading reading = read_bytes(broken + kTwo);
    EXPECT_EQ(reading.events, (Strings{"x", kOne, "four"}));
    ASSERT_EQ(reading.damage.size(), 1u);
    EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kDamage);
    EXPECT_EQ(reading.damage[0].records_lost, 0u);
  }
}

// A header with an item that exceeds the file, and a bucket with an event that does.
const std::string kTornHeader = magic() + std::string("\xff\xff\xff\x7f\x08\x01\x3a\x80\x80\x80\x80\x07", 12);
const std::string kTornPayload =
    bucket({.payload = std::string("\xff\xff\xff\x7f", 4), .stated_events = 1, .stated_size = std::uint64_t{1} << 40});

TEST(Walk, TornHeaderBeforeCompleteBucketsIsDamage) {
  const Strings there{"one", "", "three", "four", "four", "four"};
  Strings with_failed = there;
  with_failed.insert(with_failed.begin() + 3, "!event 0 of the 1 in the bucket does not fit into it");
  for (const std::uint64_t scan_bytes : {std::uint64_t{8} << 20, std::uint64_t{0}}) {
    Limits limits;
    limits.scan_bytes = scan_bytes;
    const Reading header = read_bytes(kOne + kTornHeader + kTwo + kTwo + kTwo, limits);
    EXPECT_EQ(header.events, there);
    ASSERT_EQ(header.damage.size(), 1u);
    EXPECT_EQ(header.damage[0].damage_class, DamageClass::kDamage);
    EXPECT_EQ(header.damage[0].end, kOne.size() + kTornHeader.size());
    const Reading payload = read_bytes(kOne + kTornPayload + kTwo + kTwo + kTwo, limits);
    EXPECT_EQ(payload.events, with_failed);
    ASSERT_EQ(payload.damage.size(), 1u);
    EXPECT_EQ(payload.damage[0].damage_class, DamageClass::kDamage);
  }
}

// Otherwise each torn place would check separately how the file ends.
TEST(Walk, ManyTornHeadersAreClassifiedWithOneCheckOfTheEnd) {
  std::string bytes = kOne;
  Strings events{"one", "", "three"};
  for (int i = 0; i < 20000; ++i) {
    bytes += kTornHeader + kTwo;
    events.emplace_back("four");
  }
  EXPECT_EQ(read_bytes(bytes).events, events);
}

// No bucket of an inner stream, in an entry or in the metadata, is reported, wherever the outer stream was cut: even
// between two inner buckets.
TEST(Walk, StreamInsideATornTailIsNotRead) {
  const std::string inner = kTwo + kTwo + kTwo;
  std::string any, entry("\x08\x01"), event("\x10\x01");
  protobuf::append_field(any, event_field::kAnyPayload, inner);
  protobuf::append_field(entry, map_field::kValue, any);
  protobuf::append_field(event, event_field::kEntry, entry);
  for (const std::string& whole : {bucket({.events = {event}}), bucket({.metadata = {{"k", inner}}})}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const Reading reading = read_bytes(kOne + whole.substr(0, size));
      EXPECT_EQ(reading.events, (Strings{"one", "", "three"})) << size;
      ASSERT_EQ(reading.damage.size(), 1u) << size;
      EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kUnfinished) << size;
    }
  }
}

// An uncompressed bucket that was cut off still gives its complete events; the rest is reported as unfinished.
TEST(Walk, TruncatedBucketYieldsItsCompleteEvents) {
  const Strings events{"one", magic() + "0123456789", "three"};
  const std::string last = bucket({.events = events});
  const std::string payload = BucketShape::payload_of(events);
  for (std::size_t size = 1; size < last.size(); ++size) {
    const Reading reading = read_bytes(kTwo + last.substr(0, size));
    const std::size_t there = size < last.size() - payload.size() ? 0 : size - (last.size() - payload.size());
    const std::size_t whole = there >= 37 ? 2 : there >= 7 ? 1 : 0;
    ASSERT_EQ(reading.events.size(), 1 + whole) << size;
    ASSERT_EQ(reading.damage.size(), 1u) << size;
    EXPECT_EQ(reading.damage[0].damage_class, DamageClass::kUnfinished) << size;
    EXPECT_GT(reading.damage[0].end, reading.damage[0].begin) << size;
  }
}

TEST(Walk, TruncatedCompressedBucketKeepsItsMetadata) {
  const BucketShape shape{
      .metadata = {{"k", "v"}}, .payload = "\x1f\x8b", .stated_events = 5, .stated_size = 40, .compression = 1};
  const std::string bytes = kTwo + bucket(shape);
  const auto container = open_bytes(bytes);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"four"});
  ASSERT_EQ(reading.buckets.size(), 2u);
  EXPECT_EQ(describe(container->metadata()->attributes({}, &reading.buckets[1])), Strings{"k=v"});
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_EQ(reading.damage[0].records_lost, 5u);
  EXPECT_EQ(reading.damage[0].end, bytes.size());
}

TEST(Walk, DictionaryBeyondTheLimitIsRefusedBeforeAllocation) {
  Limits limits;
  limits.decoded_chunk = 1 << 20;
  const std::string lzma("\x5d\x00\x00\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff", 13);
  const std::string bytes = bucket({.payload = lzma, .stated_events = 1, .compression = 3}) + kTwo;
  EXPECT_EQ(read_bytes(bytes, limits).events,
            (Strings{"!an LZMA dictionary of 134217728 bytes exceeds the limit", "four"}));
}

}  // namespace
}  // namespace recordfs::proio
