#include "core/formats/riegeli/transposed/decode.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/formats/riegeli/transposed/program.h"
#include "tests/unit/support/counted_allocations.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::riegeli {
namespace {

using riegeli_writer::unit;
using riegeli_writer::varint;

using Numbers = std::vector<std::uint64_t>;

// The parts of a transposed chunk, in storage order. The default values hold two records with one varint field each
// (field 1: 0x96 0x01 and 0x05); the second record is decoded first.
struct Parts {
  char compression_type = 0;
  std::vector<std::string> buckets = {std::string("\x05\x16\x01", 3)};
  Numbers buffers = {1, 2};
  Numbers tags = {8, 3, 8, 3};
  Numbers next = {4 + 1, 2, 4 + 3, 0};
  std::string subtypes = std::string("\x00\x01", 2);
  Numbers reads = {0, 1};
  std::uint64_t first = 0;
  std::string behind_header = {};
  std::string transitions = std::string(1, '\0');
  std::uint64_t records = 2;
  std::uint64_t decoded_size = 5;
};

std::string varints(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::string(),
                         [](std::string all, std::uint64_t number) { return std::move(all) + varint(number); });
}

std::string data_of(const Parts& parts) {
  std::string header = varint(parts.buckets.size()) + varint(parts.buffers.size());
  std::string buckets;
  for (const std::string& bucket : parts.buckets) {
    const std::string stored = unit(bucket, parts.compression_type);
    header += varint(stored.size());
    buckets += stored;
  }
  header += varints(parts.buffers) + varint(parts.tags.size()) + varints(parts.tags) + varints(parts.next);
  header += parts.subtypes + varints(parts.reads) + varint(parts.first) + parts.behind_header;
  const std::string stored_header = unit(header, parts.compression_type);
  return std::string(1, parts.compression_type) + varint(stored_header.size()) + stored_header + buckets +
         unit(parts.transitions, parts.compression_type);
}

Result<std::vector<std::string>> records_of(const Result<transposed::Decoded>& result) {
  ASSIGN_OR_RETURN(const auto& decoded, result);
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < decoded.layout.records(); ++i) {
    const Extent extent = decoded.layout.extent(i);
    records.emplace_back(as_text(decoded.payload.view().subspan(extent.begin, extent.size)));
  }
  return records;
}

Result<std::vector<std::string>> records_in(const Parts& parts, const Limits& limits = {},
                                            const RequestContext& context = {}) {
  const std::string data = data_of(parts);
  return records_of(transposed::decode(context, as_bytes(data), parts.records, parts.decoded_size, limits));
}

using Records = std::vector<std::string>;

// Returns the records with one field.
Result<Records> records_with(std::uint32_t field, const Parts& parts, const std::string& data) {
  FieldProjection wanted;
  wanted.add(std::vector{field});
  return records_of(transposed::decode_fields({}, as_bytes(data), parts.records, parts.decoded_size, Limits{}, wanted));
}
Result<Records> records_with(std::uint32_t field, const Parts& parts) {
  return records_with(field, parts, data_of(parts));
}

bool is_damage(const Parts& parts) {
  auto records = records_in(parts);
  return !records && records.error().code == Code::kDamage;
}

// Returns one node for each tag without a buffer, run in order by transitions.
Parts without_buffers(const Numbers& tags, std::uint64_t records, std::uint64_t decoded_size) {
  Parts parts{.buckets = {}, .buffers = {}, .tags = tags, .next = {}, .subtypes = {}, .reads = {}};
  for (std::size_t i = 0; i < tags.size(); ++i) parts.next.push_back(std::min(i + 1, tags.size() - 1));
  parts.transitions = std::string(tags.empty() ? 0 : tags.size() - 1, '\0');
  parts.records = records;
  parts.decoded_size = decoded_size;
  return parts;
}

TEST(Transposed, VarintsAreWrittenWithTheirTagsLastRecordFirst) {
  const Records want = {"\x08\x96\x01", "\x08\x05"};
  EXPECT_EQ(records_in({}).value_or(Records()), want);
  EXPECT_EQ(records_in({.compression_type = 'z'}).value_or(Records()), want);
}

TEST(Transposed, VarintsOfEachLengthKeepTheirBytes) {
  for (std::size_t size = 1; size <= 10; ++size) {
    const std::string low(size, '\x01');
    std::string varint_bytes(size, '\x81');
    varint_bytes.back() = '\x01';
    Parts parts{.buckets = {low}, .buffers = {size}, .tags = {8, 3}, .next = {2 + 1, 0}};
    parts.subtypes = std::string(1, static_cast<char>(size - 1));
    parts.reads = {0};
    parts.transitions.clear();
    parts.records = 1;
    parts.decoded_size = size + 1;
    EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"\x08" + varint_bytes})) << size;
  }
}

TEST(Transposed, InlineVarintsUpTo127AreStoredInTheHeader) {
  Parts parts = without_buffers({8, 3}, 1, 2);
  parts.subtypes = std::string(1, static_cast<char>(10 + 127));
  EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"\x08\x7f"}));
  parts.subtypes = std::string(1, static_cast<char>(138));
  EXPECT_TRUE(is_damage(parts));
}

TEST(Transposed, FixedFieldsAndStringsAreCopied) {
  Parts parts{.buckets = {"abcd12345678", std::string("\x82\x00xy", 4)}, .buffers = {4, 8, 4}};
  parts.tags = {0x15, 0x19, 0x22, 3};
  parts.next = {4 + 1, 4 + 2, 4 + 3, 0};
  parts.subtypes.clear();
  parts.reads = {0, 1, 2};
  parts.transitions.clear();
  parts.records = 1;
  parts.decoded_size = 5 + 9 + 5;
  EXPECT_EQ(records_in(parts).value_or(Records()),
            (Records{std::string("\x22\x82\x00xy", 5) + "\x19" + "12345678" + "\x15" + "abcd"}));
}

TEST(Transposed, SubmessageLengthIsWrittenAtItsBegin) {
  // End of submessage 1 (tag 0x0a stored as 0x0e), an inline varint, begin, record.
  Parts parts = without_buffers({0x0e, 8, 2, 3}, 1, 4);
  parts.subtypes = std::string(1, 10 + 1);
  EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"\x0a\x02\x08\x01"}));
}

TEST(Transposed, UnbalancedGroupTagsAreAccepted) {
  EXPECT_EQ(records_in(without_buffers({0x0c, 3, 0x0b, 3}, 2, 2)).value_or(Records()), (Records{"\x0b", "\x0c"}));
}

TEST(Transposed, NonProtoRecordsTakeTheirLengthsFromTheLastBuffer) {
  Parts parts{.buckets = {"cdab", std::string("\x02\x00\x02", 3)}, .buffers = {4, 3}, .tags = {1}, .next = {0}};
  parts.subtypes.clear();
  parts.reads = {0};
  parts.transitions = std::string(2, '\0');
  parts.records = 3;
  parts.decoded_size = 4;
  EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"ab", "", "cd"}));
}

TEST(Transposed, TransitionRepeatsWithoutABytePerStep) {
  Parts parts = without_buffers({3}, 4, 0);
  parts.transitions = std::string(1, '\x02');
  EXPECT_EQ(records_in(parts).value_or(Records()), Records(4));
}

TEST(Transposed, ChunkWithoutRecordsIsEmpty) {
  EXPECT_EQ(records_in(without_buffers({0}, 0, 0)).value_or(Records(1)), Records());
  EXPECT_TRUE(is_damage(without_buffers({}, 0, 0)));
}

TEST(Transposed, BytesLeftInBuffersAndBuffersUsedTwiceAreAccepted) {
  Parts parts;
  parts.buckets = {std::string("\x05\x16\x01zzz", 6)};
  parts.buffers = {1, 5};
  EXPECT_TRUE(records_in(parts));
  parts.buffers = {6};
  parts.reads = {0, 0};
  EXPECT_TRUE(records_in(parts));
}

TEST(TransposedRefusal, HeaderThatIsTooShortOrTooLong) {
  EXPECT_TRUE(is_damage({.behind_header = "x"}));
  EXPECT_TRUE(is_damage({.reads = {0}, .behind_header = {}}));
  EXPECT_TRUE(is_damage({.tags = {8, 3, 8}}));
}

TEST(TransposedRefusal, BucketsThatDoNotMatchTheirBuffers) {
  EXPECT_TRUE(is_damage({.buckets = {}}));
  EXPECT_TRUE(is_damage({.buckets = {"\x05\x16"}}));
  EXPECT_TRUE(is_damage({.buckets = {"\x05\x16\x01\x01"}}));
  EXPECT_TRUE(is_damage({.buckets = {"\x05\x16\x01", "x"}}));
  EXPECT_TRUE(is_damage({.buckets = {"\x05\x16", "\x01"}}));
  EXPECT_FALSE(is_damage({.buckets = {"\x05", "\x16\x01"}}));
  EXPECT_FALSE(is_damage({.buckets = {"\x05\x16\x01", ""}}));
}

TEST(TransposedRefusal, TagsOfUnknownKind) {
  for (const std::uint64_t tag : Numbers{4, 5, 6, 7, 15, 23}) {
    EXPECT_TRUE(is_damage(without_buffers({3, tag}, 2, 0))) << tag;
  }
}

TEST(TransposedRefusal, IndicesOutOfRange) {
  EXPECT_TRUE(is_damage({.next = {4 + 1, 2, 4 + 3, 8}}));
  EXPECT_TRUE(is_damage({.reads = {0, 2}}));
  EXPECT_TRUE(is_damage({.first = 4}));
  EXPECT_TRUE(is_damage({.transitions = std::string(1, 2 << 2)}));
}

TEST(TransposedRefusal, ImplicitLoopsReachableOrNot) {
  Parts parts = without_buffers({3, 0, 0}, 1, 0);
  parts.transitions.clear();
  EXPECT_TRUE(records_in(parts));
  parts.next = {0, 3 + 2, 3 + 1};
  EXPECT_TRUE(is_damage(parts));
  parts.next = {0, 3 + 1, 0};
  EXPECT_TRUE(is_damage(parts));
}

TEST(TransposedRefusal, BufferThatRunsOut) {
  EXPECT_TRUE(is_damage({.reads = {0, 0}}));
  EXPECT_TRUE(is_damage({.subtypes = std::string("\x00\x02", 2)}));
}

TEST(TransposedRefusal, UnpairedSubmessages) {
  EXPECT_TRUE(is_damage(without_buffers({2, 3}, 1, 2)));
  EXPECT_TRUE(is_damage(without_buffers({0x0e, 3}, 1, 2)));
  EXPECT_TRUE(is_damage(without_buffers({3, 0x0e}, 1, 2)));
}

TEST(TransposedRefusal, CountsAndSizesOtherThanDeclared) {
  EXPECT_TRUE(is_damage({.records = 1}));
  EXPECT_TRUE(is_damage({.records = 3}));
  EXPECT_TRUE(is_damage({.decoded_size = 4}));
  EXPECT_TRUE(is_damage({.decoded_size = 6}));
  // A field that belongs to no record.
  EXPECT_TRUE(is_damage(without_buffers({3, 0x0b}, 1, 1)));
  EXPECT_TRUE(is_damage(without_buffers({0x0b}, 0, 1)));
}

TEST(TransposedRefusal, UnknownCompressionIsUnsupported) {
  const std::string data("\x07\x00", 2);
  auto decoded = transposed::decode({}, as_bytes(data), 0, 0, Limits{});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kUnsupported);
}

TEST(TransposedLimits, BuffersBeyondTheLimitAreNotOpened) {
  Parts parts{.buckets = {std::string(1000, 'x')}, .buffers = {1000}, .reads = {0, 0}};
  Limits limits;
  limits.decoded_chunk = 500;
  auto records = records_in(parts, limits);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code, Code::kLimit);
}

bool is_limit(const Parts& parts) {
  auto records = records_in(parts);
  return !records && records.error().code == Code::kLimit;
}

TEST(TransposedLimits, UnusedBytesInBuffersAreNotDecompressed) {
  Parts parts{.compression_type = 'z', .buckets = {std::string(2 << 20, 'x')}, .buffers = {2 << 20}, .tags = {3}};
  parts.next = {0};
  parts.subtypes.clear();
  parts.reads.clear();
  parts.transitions.clear();
  parts.records = 1;
  parts.decoded_size = 0;
  EXPECT_TRUE(is_limit(parts));
  parts.buckets = {std::string(1 << 20, 'x')};
  parts.buffers = {1 << 20};
  EXPECT_EQ(records_in(parts).value_or(Records()), Records(1));
}

TEST(TransposedLimits, UnusedBuffersBucketsAndNodesAreNotAllocated) {
  constexpr std::size_t kMost = 16 << 10;
  for (const bool is_allowed : {true, false}) {
    const std::size_t count = is_allowed ? kMost : kMost + 1;
    Parts buffers = without_buffers({3}, 1, 0);
    buffers.buckets = {""};
    buffers.buffers = Numbers(count, 0);
    EXPECT_EQ(is_limit(buffers), !is_allowed);
    EXPECT_EQ(records_in(buffers).has_value(), is_allowed);
    Parts buckets = without_buffers({3}, 1, 0);
    buckets.buckets = std::vector<std::string>(count);
    EXPECT_EQ(is_limit(buckets), !is_allowed);
    Parts nodes = without_buffers(Numbers(count, 0), 0, 0);
    nodes.transitions.clear();
    EXPECT_EQ(is_limit(nodes), !is_allowed);
    EXPECT_EQ(records_in(nodes).has_value(), is_allowed);
  }
}

TEST(TransposedLimits, CountsBeyondTheHeaderSizeAllocateNothing) {
  for (const std::uint64_t huge : {std::uint64_t{1} << 31, std::uint64_t{0xffffffff}}) {
    for (const std::string& header :
         {varint(huge) + varint(0), varint(0) + varint(huge), varint(0) + varint(0) + varint(huge)}) {
      const std::string data = std::string(1, '\0') + varint(header.size()) + header;
      auto decoded = transposed::decode({}, as_bytes(data), 1, 1, Limits{});
      ASSERT_FALSE(decoded);
      EXPECT_EQ(decoded.error().code, Code::kDamage);
    }
  }
}

// Returns how many large allocations are reported during decoding, whether it succeeds or not.
int told_of(const Parts& parts) {
  testing::CountedAllocations allocations;
  static_cast<void>(records_in(parts, {}, RequestContext().with(allocations)));
  return allocations.take();
}

TEST(TransposedLimits, LargeAllocationsForRecordsNodesAndBuffersAreAnnounced) {
  constexpr std::uint64_t kLarge = RequestContext::kLargeAllocation;
  EXPECT_EQ(told_of(without_buffers({3}, kLarge / 8 - 1, 0)), 0);
  EXPECT_EQ(told_of(without_buffers({3}, kLarge / 8, 0)), 1);
  const std::size_t nodes = kLarge / sizeof(transposed::Node);
  EXPECT_EQ(told_of(without_buffers(Numbers(nodes - 1, 0), 0, nodes)), 0);
  EXPECT_EQ(told_of(without_buffers(Numbers(nodes, 0), 0, nodes)), 1);
  Parts buffers = without_buffers({3}, 1, 4 << 20);
  buffers.buckets = {""};
  buffers.buffers = Numbers(kLarge / 8, 0);
  // The lengths, the buffers, and the positions in them.
  EXPECT_EQ(told_of(buffers), 3);
}

TEST(TransposedLimits, LoopsWithoutOutputAndOpenSubmessagesTerminate) {
  // A thousand no-op nodes, each followed by the next, run by each of many transitions.
  Parts idle = without_buffers(Numbers(1001, 0), 0, 0);
  for (std::size_t i = 0; i < 1000; ++i) idle.next[i] = 1001 + i + 1;
  idle.next[1000] = 0;
  idle.transitions = std::string(60000, '\x03');
  EXPECT_TRUE(records_in(idle));
  // A node that opens submessages indefinitely.
  Parts open = without_buffers({0x0e}, 0, 0);
  open.transitions = std::string(60000, '\x03');
  EXPECT_TRUE(is_damage(open));
}

// Returns a record with a varint as field 1 and a text as field 2, each in a bucket of its own.
Parts two_buckets() {
  Parts parts{.compression_type = 'z',
              .buckets = {"\x05", std::string("\x03"
                                              "abc")},
              .buffers = {1, 4}};
  parts.tags = {0x12, 8, 3};
  parts.next = {3 + 1, 3 + 2, 0};
  parts.subtypes = std::string(1, '\0');
  parts.reads = {1, 0};
  parts.transitions.clear();
  parts.records = 1;
  parts.decoded_size = 7;
  return parts;
}

TEST(TransposedProjection, OnlyBucketsOfWantedFieldsAreDecompressed) {
  const Parts parts = two_buckets();
  EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"\x08\x05\x12\x03"
                                                            "abc"}));
  EXPECT_EQ(records_with(2, parts).value_or(Records()), (Records{"\x12\x03"
                                                                 "abc"}));
  EXPECT_EQ(records_with(3, parts).value_or(Records()), Records(1));
  std::string data = data_of(parts);
  const std::size_t text = data.find(unit(parts.buckets[1], 'z'));
  data[text + 1] ^= 1;  // the magic number of zstd
  EXPECT_EQ(records_with(1, parts, data).value_or(Records()), (Records{"\x08\x05"}));
  const auto damaged = records_with(2, parts, data);
  const auto all = records_of(transposed::decode({}, as_bytes(data), 1, 7, Limits{}));
  ASSERT_FALSE(damaged || all);
  EXPECT_EQ(damaged.error().detail, all.error().detail);
}

TEST(TransposedProjection, BucketsThatDeclareAnotherSizeGiveWholeRecords) {
  const Parts parts = two_buckets();
  std::string data = data_of(parts);
  ++data[data.find(unit(parts.buckets[1], 'z'))];
  EXPECT_EQ(records_with(1, parts, data).value_or(Records()), (Records{"\x08\x05\x12\x03"
                                                                       "abc"}));
}

// The declared sizes have the right sum, but the first bucket declares the size of the second.
TEST(TransposedProjection, BucketsThatDeclareEachOthersSizesGiveWholeRecords) {
  for (const char compression : {'z', 'b'}) {
    const Parts parts{.compression_type = compression,
                      .buckets = {"\x03"
                                  "aaa"
                                  "\x03"
                                  "bbb"
                                  "\x03"
                                  "ccc",
                                  "\x03"
                                  "ddd"},
                      .buffers = {4, 4, 4, 4},
                      .tags = {0x22, 0x1a, 0x12, 0x0a, 3},
                      .next = {5 + 1, 5 + 2, 5 + 3, 5 + 4, 0},
                      .subtypes = {},
                      .reads = {3, 2, 1, 0},
                      .transitions = {},
                      .records = 1,
                      .decoded_size = 20};
    std::string data = data_of(parts);
    const auto all = records_of(transposed::decode({}, as_bytes(data), 1, 20, Limits{}));
    ASSERT_TRUE(all) << compression;
    std::swap(data[data.find(unit(parts.buckets[0], compression))],
              data[data.find(unit(parts.buckets[1], compression))]);
    EXPECT_EQ(records_with(2, parts, data).value_or(Records()), *all) << compression;
  }
}

TEST(TransposedProjection, BufferOfWantedAndOtherFieldsGivesWholeRecords) {
  Parts parts{.buckets = {"\x05\x06"}, .buffers = {2}, .tags = {0x10, 8, 3}, .next = {3 + 1, 3 + 2, 0}};
  parts.subtypes = std::string(2, '\0');
  parts.reads = {0, 0};
  parts.transitions.clear();
  parts.records = 1;
  parts.decoded_size = 4;
  EXPECT_EQ(records_with(1, parts).value_or(Records()), (Records{"\x08\x06\x10\x05"}));
  EXPECT_EQ(records_with(2, parts).value_or(Records()), (Records{"\x08\x06\x10\x05"}));
}

TEST(TransposedProjection, NodeWithFieldsOfSeveralMessagesGivesWholeRecords) {
  // Field 1 in the record, and after an unpaired start of a submessage in the submessage 2.
  Parts parts = without_buffers({8, 0x16, 2, 3}, 1, 6);
  parts.subtypes = std::string(1, 10 + 1);
  parts.next = {1, 4 + 0, 4 + 3, 0};
  parts.transitions = std::string("\x00\x04", 2);
  EXPECT_EQ(records_in(parts).value_or(Records()), (Records{"\x12\x02\x08\x01\x08\x01"}));
  EXPECT_EQ(records_with(1, parts).value_or(Records()), records_in(parts).value_or(Records(2)));
}

TEST(TransposedProjection, UnpairedGroupsGiveWholeRecords) {
  const Parts parts = without_buffers({0x0c, 3, 0x0b, 3}, 2, 2);
  EXPECT_EQ(records_with(1, parts).value_or(Records()), (Records{"\x0b", "\x0c"}));
  EXPECT_EQ(records_with(2, parts).value_or(Records()), (Records{"\x0b", "\x0c"}));
}

TEST(TransposedProjection, FieldsThatAreLeftOutCannotTakeLongerThanTheChunk) {
  constexpr std::size_t kNodes = 10000;
  Parts parts = without_buffers(Numbers(kNodes, 0x10), 0, 10);
  parts.subtypes = std::string(kNodes, 10);
  for (std::size_t i = 0; i + 1 < kNodes; ++i) parts.next[i] = kNodes + i + 1;
  parts.next[kNodes - 1] = 0;
  parts.transitions = std::string(60000, '\x03');
  const auto all = records_in(parts);
  const auto some = records_with(1, parts);
  ASSERT_FALSE(all || some);
  EXPECT_EQ(some.error().detail, all.error().detail);
}

}  // namespace
}  // namespace recordfs::riegeli
