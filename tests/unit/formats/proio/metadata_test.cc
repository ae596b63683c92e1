// Metadata and descriptors at different positions of a stream.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/formats/proio/format.h"
#include "core/formats/proio/metadata.h"
#include "core/formats/proio/wire.h"
#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::proio {
namespace {

using testing::CountingSource;
using Strings = std::vector<std::string>;

// Returns the metadata in effect at each bucket, requested in the given order.
std::vector<Strings> attributes_in_order(const std::string& bytes, const std::vector<std::size_t>& order,
                                         const Limits& limits = {}) {
  const auto container = open_bytes(bytes, limits);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::vector<Strings> all;
  for (const std::size_t i : order) all.push_back(describe(container->metadata()->attributes_at({}, buckets[i])));
  return all;
}

TEST(Metadata, ApplyFromTheirBucketOn) {
  const std::string bytes = bucket({.metadata = {{"a", "1"}, {"b", "2"}}}) + bucket({.events = {"x"}}) +
                            bucket({.metadata = {{"b", ""}}}) + bucket({.metadata = {{"c", "3"}, {"c", "4"}}});
  const Strings first{"a=1", "b=2"}, third{"a=1", "b="}, last{"a=1", "b=", "c=4"};
  EXPECT_EQ(attributes_in_order(bytes, {0, 1, 2, 3}), (std::vector<Strings>{first, first, third, last}));
  EXPECT_EQ(attributes_in_order(bytes, {3, 0, 2, 1}), (std::vector<Strings>{last, first, third, first}));
}

TEST(Metadata, BucketsMayBeQueriedInAnyOrder) {
  Limits limits;
  limits.metadata_bytes = 150;
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += bucket({.metadata = {{"k", std::to_string(i)}}});
  std::vector<std::size_t> order;
  std::vector<Strings> expected;
  for (std::size_t i = 0; i < 40; ++i) {
    order.push_back(i * 7 % 20);
    expected.push_back({"k=" + std::to_string(order.back())});
  }
  EXPECT_EQ(attributes_in_order(bytes, order, limits), expected);
}

TEST(Metadata, MetadataBeyondTheLimitAreRefusedButEventsAreRead) {
  Limits limits;
  limits.metadata_bytes = 1000;
  const std::string bytes = bucket({.events = {"x"}, .metadata = {{"k", std::string(2000, 'v')}}});
  const auto container = open_bytes(bytes, limits);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"x"});
  EXPECT_EQ(container->metadata()->attributes_at({}, reading.buckets[0]).error().code, Code::kLimit);
}

TEST(Metadata, FirstValuesAreKnownAtOpenAndLastOnesAfterTheLastBucket) {
  const std::string bytes = bucket({.metadata = {{"k", "first"}}}) + bucket({.metadata = {{"k", "last"}}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  EXPECT_TRUE(container->metadata()->varies());
  EXPECT_EQ(describe(container->metadata()->attributes({}, nullptr)), Strings{"k=first"});
  EXPECT_EQ(describe(container->metadata()->attributes({}, &buckets.back())), Strings{"k=last"});
}

TEST(Metadata, UnreadableItemIsADamagedRegion) {
  const std::string file = file_descriptor("file", {});
  const std::string bad_message = content(4, content(2, "\x0a\x50"));  // a field of a message that ends too early
  for (const auto& [number, item] : std::vector<std::pair<std::uint32_t, std::string>>{
           {7, "\x0a\x50"}, {5, "\x0a\x50"}, {5, file + bad_message}, {5, content(2, "package")}, {5, ""}}) {
    const std::string bad = content(number, item);
    const std::string bytes =
        bucket({.events = {"x"}, .metadata = {{"k", "v"}}, .file_descriptors = {file}, .more_header = bad});
    const auto container = open_bytes(bytes);
    const Reading reading = read_all(*container, bytes.size());
    EXPECT_EQ(reading.events, Strings{"x"});
    ASSERT_EQ(reading.damage.size(), 1u) << number << item;
    EXPECT_EQ(bytes.substr(reading.damage[0].begin, reading.damage[0].end - reading.damage[0].begin), bad);
    EXPECT_EQ(describe(container->metadata()->attributes_at({}, reading.buckets[0])), Strings{"k=v"});
    EXPECT_EQ(**container->metadata()->descriptors({}, reading.buckets[0]), content(1, file));
  }
}

TEST(Metadata, HeaderLargerThanAWindowIsRead) {
  const std::string bytes = bucket({.events = {"x"}, .metadata = {{"a", std::string(100000, 'a')}, {"b", "2"}}});
  const auto container = open_bytes(bytes);
  const Reading reading = read_all(*container, bytes.size());
  EXPECT_EQ(reading.events, Strings{"x"});
  EXPECT_EQ(describe(container->metadata()->attributes_at({}, reading.buckets[0])),
            (Strings{"a=" + std::string(100000, 'a'), "b=2"}));
}

void set(Fold& fold, const std::string& key, std::size_t size) {
  std::string entry;
  protobuf::append_field(entry, map_field::kKey, key);
  protobuf::append_field(entry, map_field::kValue, std::string(size, 'v'));
  ASSERT_TRUE(fold.add({}, *source_of(entry), {header_field::kMetadata, 0, entry.size()}, {}));
}

TEST(Fold, CopySharesUnchangedValues) {
  Fold fold;
  set(fold, "b", 2000);
  set(fold, "d", 1000);
  const std::string file = file_descriptor("b", std::vector<std::string>(100));
  ASSERT_TRUE(fold.add({}, *source_of(file), {header_field::kFileDescriptor, 0, file.size()}, {}));
  Fold copy = fold;
  EXPECT_EQ(fold.unshared_with(fold), 0u);
  EXPECT_EQ(fold.unshared_with({}), fold.size());
  EXPECT_EQ(copy.unshared_with(fold), copy.size() - 3000 - file.size());
  set(copy, "a", 10);
  set(copy, "b", 500);
  set(copy, "c", 10);
  set(copy, "e", 10);
  EXPECT_EQ(copy.unshared_with(fold), copy.size() - 1000 - file.size());
  EXPECT_EQ(fold.unshared_with(copy), fold.size() - 1000 - file.size());
}

// A stream in which one of two values changes every few buckets.
constexpr std::size_t kBuckets = 20000, kChange = 7;

std::string long_stream() {
  std::string bytes = bucket({.metadata = {{"first", "0"}}});
  for (std::size_t i = 1; i < kBuckets; ++i) {
    bytes += i % kChange == 0 ? bucket({.metadata = {{"k", std::to_string(i)}}}) : bucket({});
  }
  return bytes;
}

// Requests the metadata of every `stride`th bucket, then counts the reads for twenty buckets in reverse order.
std::uint64_t reads_on_the_way_back(const std::string& bytes, std::size_t stride, std::uint64_t metadata_bytes) {
  const auto source = std::make_shared<CountingSource>(bytes);
  Limits limits;
  limits.metadata_bytes = metadata_bytes;
  const auto container = std::move(*kFormat.open({}, source, limits));
  const auto buckets = read_all(*container, bytes.size()).buckets;
  EXPECT_EQ(buckets.size(), kBuckets);
  for (std::size_t i = stride - 1; i < kBuckets; i += stride)
    EXPECT_TRUE(container->metadata()->attributes_at({}, buckets[i]));
  source->take_reads();
  for (std::size_t i = kBuckets - 1; i >= kBuckets / 20; i -= kBuckets / 20 - 1) {
    EXPECT_EQ(describe(container->metadata()->attributes_at({}, buckets[i])),
              (Strings{"first=0", "k=" + std::to_string(i / kChange * kChange)}));
  }
  return source->take_reads();
}

TEST(Metadata, AnyBucketIsNearACheckpointHoweverTheStreamWasScanned) {
  const std::string bytes = long_stream();
  for (const std::size_t stride : {kBuckets, kBuckets / 1000, std::size_t{1}}) {
    const std::uint64_t near = reads_on_the_way_back(bytes, stride, std::uint64_t{64} << 20);
    const std::uint64_t far = reads_on_the_way_back(bytes, stride, 20000);
    EXPECT_LT(near, 20u * 100) << stride;
    EXPECT_LT(far, 20u * 1000) << stride;
    EXPECT_GT(far, 4 * near) << stride;
  }
}

TEST(FileDescriptors, FormOneSetOrderedByImportsWithTheNewestOfEachName) {
  const std::string old = file_descriptor("base", {}), base = file_descriptor("base", {"elsewhere"});
  const std::string geometry = file_descriptor("a/geometry", {"base"}), loop = file_descriptor("loop", {"loop"});
  const std::string bytes = bucket({.file_descriptors = {geometry, old}}) + bucket({.file_descriptors = {loop, base}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::string set;
  for (const std::string& file : {base, geometry, loop}) protobuf::append_field(set, 1, file);
  EXPECT_EQ(describe(container->metadata()->attributes({}, &buckets.back())), Strings{"file_descriptor_set=" + set});
  EXPECT_TRUE(describe(container->metadata()->attributes_at({}, buckets[0])).empty());
}

TEST(FileDescriptors, ManyUnnamedImportsAreNotFiles) {
  const std::string base = file_descriptor("z/base", {});
  std::string file = file_descriptor("file", std::vector<std::string>(1 << 20)) + file_descriptor("file", {"z/base"});
  const std::string bytes = bucket({.file_descriptors = {file, base}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  std::string set;
  for (const std::string& each : {base, file}) protobuf::append_field(set, 1, each);
  EXPECT_EQ(describe(container->metadata()->attributes({}, &buckets.back())), Strings{"file_descriptor_set=" + set});
}

// Returns the descriptors in effect at each bucket, requested in the given order.
std::vector<std::shared_ptr<const std::string>> descriptors(const Container& container,
                                                            const std::vector<ChunkInfo>& buckets,
                                                            const std::vector<std::size_t>& order) {
  std::vector<std::shared_ptr<const std::string>> all;
  for (const std::size_t i : order) {
    const auto set = container.metadata()->descriptors({}, buckets[i]);
    EXPECT_TRUE(set);
    all.push_back(set ? *set : nullptr);
  }
  return all;
}

std::string set_of(const Strings& files) {
  std::string set;
  for (const std::string& file : files) protobuf::append_field(set, 1, file);
  return set;
}

TEST(Metadata, OnlyWhatIsShortIsCopiedForRecords) {
  const std::string bytes = bucket({.metadata = {{"a", "1"}, {"large", std::string(100, 'x')}, {"z", "2"}}});
  const auto container = open_bytes(bytes);
  const auto buckets = read_all(*container, bytes.size()).buckets;
  const auto some = container->metadata()->short_attributes_at({}, buckets[0], 4);
  ASSERT_TRUE(some);
  EXPECT_EQ(describe(some->attributes()), (Strings{"a=1", "z=2"}));
  EXPECT_EQ(some->omitted(), 1u);
}

TEST(Descriptors, AreTheNewestOfEachNameUpToTheBucket) {
  const std::string old = file_descriptor("base", {}), base = file_descriptor("base", {"elsewhere"});
  const std::string bytes = bucket({.events = {"x"}}) + bucket({.file_descriptors = {old}}) +
                            bucket({.events = {"x"}}) + bucket({.file_descriptors = {base}});
  const auto container = open_bytes(bytes);
  const auto sets = descriptors(*container, read_all(*container, bytes.size()).buckets, {3, 2, 1, 0});
  EXPECT_EQ(*sets[0], set_of({base}));
  EXPECT_EQ(*sets[1], set_of({old}));
  EXPECT_EQ(sets[1], sets[2]);
  EXPECT_EQ(sets[3], nullptr);
}

TEST(Descriptors, AreSharedByBucketsWithEqualDescriptors) {
  const std::string file = file_descriptor("base", {});
  std::string bytes = bucket({.file_descriptors = {file}});
  for (int i = 0; i < 20; ++i) bytes += bucket({.metadata = {{"k", std::to_string(i)}}});
  bytes += bucket({.file_descriptors = {file}});
  const auto container = open_bytes(bytes);
  const auto sets = descriptors(*container, read_all(*container, bytes.size()).buckets, {21, 0, 10, 20, 3, 1});
  for (const auto& set : sets) EXPECT_EQ(set, sets[0]);
  EXPECT_EQ(*sets[0], set_of({file}));
}

}  // namespace
}  // namespace recordfs::proio
