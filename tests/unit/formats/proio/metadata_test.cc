// Metadata and descriptors along a stream.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/formats/proio/format.h"
#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::proio {
namespace {

using testing::CountingSource;
using Strings = std::vector<std::string>;

// What holds at each bucket, asked for in the given order.
std::vector<Strings> told_in_order(const std::string& bytes, const std::vector<std::size_t>& order,
                                   const Limits& limits = {}) {
  const auto container = open_bytes(bytes, limits);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::vector<Strings> all;
  for (const std::size_t i : order) all.push_back(told(container->chunk_attributes(buckets[i])));
  return all;
}

TEST(Metadata, HoldFromTheirBucketOn) {
  const std::string bytes = bucket({.metadata = {{"a", "1"}, {"b", "2"}}}) + bucket({.events = {"x"}}) +
                            bucket({.metadata = {{"b", ""}}}) + bucket({.metadata = {{"c", "3"}, {"c", "4"}}});
  const Strings first{"a=1", "b=2"}, third{"a=1", "b="}, last{"a=1", "b=", "c=4"};
  EXPECT_EQ(told_in_order(bytes, {0, 1, 2, 3}), (std::vector<Strings>{first, first, third, last}));
  EXPECT_EQ(told_in_order(bytes, {3, 0, 2, 1}), (std::vector<Strings>{last, first, third, first}));
}

TEST(Metadata, OneFoldIsEnoughForAnyOrder) {
  Limits limits;
  limits.metadata_bytes = 150;
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += bucket({.metadata = {{"k", std::to_string(i)}}});
  std::vector<std::size_t> order;
  std::vector<Strings> due;
  for (std::size_t i = 0; i < 40; ++i) {
    order.push_back(i * 7 % 20);
    due.push_back({"k=" + std::to_string(order.back())});
  }
  EXPECT_EQ(told_in_order(bytes, order, limits), due);
}

TEST(Metadata, LargerThanTheLimitAreRefusedAndNotTheEvents) {
  Limits limits;
  limits.metadata_bytes = 1000;
  const std::string bytes = bucket({.events = {"x"}, .metadata = {{"k", std::string(2000, 'v')}}});
  const auto container = open_bytes(bytes, limits);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"x"});
  EXPECT_EQ(container->chunk_attributes(reading.buckets[0]).error().code, Code::kLimit);
}

TEST(Metadata, LastValuesAreThoseOfTheLastBucketAndTheFirstAreKnownAtOpen) {
  const std::string bytes = bucket({.metadata = {{"k", "first"}}}) + bucket({.metadata = {{"k", "last"}}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  EXPECT_TRUE(container->attributes_change());
  EXPECT_EQ(told(container->attributes(nullptr)), Strings{"k=first"});
  EXPECT_EQ(told(container->attributes(&buckets.back())), Strings{"k=last"});
}

TEST(Metadata, EntryThatCannotBeReadIsARegionAndNoMetadata) {
  std::string bad;
  protobuf::append_field(bad, 7, "\x0a\x50");
  const std::string bytes = bucket({.events = {"x"}, .metadata = {{"k", "v"}}, .more_header = bad});
  const auto container = open_bytes(bytes);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"x"});
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_EQ(bytes.substr(reading.damage[0].begin, reading.damage[0].end - reading.damage[0].begin), bad);
  EXPECT_EQ(told(container->chunk_attributes(reading.buckets[0])), Strings{"k=v"});
}

TEST(Metadata, HeaderOfMoreThanAWindowIsRead) {
  const std::string bytes = bucket({.events = {"x"}, .metadata = {{"a", std::string(100000, 'a')}, {"b", "2"}}});
  const auto container = open_bytes(bytes);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"x"});
  EXPECT_EQ(told(container->chunk_attributes(reading.buckets[0])), (Strings{"a=" + std::string(100000, 'a'), "b=2"}));
}

TEST(Metadata, AnyBucketOfAWalkedStreamIsNearAKeptPlace) {
  constexpr std::size_t kBuckets = 20000, kChange = 7;
  for (const std::uint64_t metadata_bytes : {std::uint64_t{64} << 20, std::uint64_t{20000}}) {
    std::string bytes = bucket({.metadata = {{"first", "0"}}});
    for (std::size_t i = 1; i < kBuckets; ++i) {
      bytes += i % kChange == 0 ? bucket({.metadata = {{"k", std::to_string(i)}}}) : bucket({});
    }
    const auto source = std::make_shared<CountingSource>(bytes);
    Limits limits;
    limits.metadata_bytes = metadata_bytes;
    const auto container = std::move(*kFormat.open(source, limits));
    const auto buckets = read_all(*container, bytes.size()).buckets;
    ASSERT_EQ(buckets.size(), kBuckets);
    ASSERT_TRUE(container->chunk_attributes(buckets.back()));
    source->take_reads();
    for (std::size_t i = kBuckets - 1; i >= kBuckets / 20; i -= kBuckets / 20 - 1) {
      EXPECT_EQ(told(container->chunk_attributes(buckets[i])),
                (Strings{"first=0", "k=" + std::to_string(i / kChange * kChange)}));
    }
    EXPECT_LT(source->take_reads(), metadata_bytes > kBuckets ? 20u * 100 : 20u * 1000);
  }
}

TEST(FileDescriptors, AreOneSetInTheOrderOfTheirImportsAndTheNewestOfAName) {
  const std::string old = file_descriptor("base", {}), base = file_descriptor("base", {"elsewhere"});
  const std::string geometry = file_descriptor("a/geometry", {"base"}), loop = file_descriptor("loop", {"loop"});
  const std::string bytes = bucket({.file_descriptors = {geometry, old}}) + bucket({.file_descriptors = {loop, base}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::string set;
  for (const std::string& file : {base, geometry, loop}) protobuf::append_field(set, 1, file);
  EXPECT_EQ(told(container->attributes(&buckets.back())), Strings{"file_descriptor_set=" + set});
  EXPECT_TRUE(told(container->chunk_attributes(buckets[0])).empty());
}

TEST(FileDescriptors, ImportsWithoutANameAreManyAndNoFiles) {
  const std::string base = file_descriptor("z/base", {});
  std::string file = file_descriptor("file", std::vector<std::string>(1 << 20)) + file_descriptor("file", {"z/base"});
  const std::string bytes = bucket({.file_descriptors = {file, base}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::string set;
  for (const std::string& each : {base, file}) protobuf::append_field(set, 1, each);
  EXPECT_EQ(told(container->attributes(&buckets.back())), Strings{"file_descriptor_set=" + set});
}

}  // namespace
}  // namespace recordfs::proio
