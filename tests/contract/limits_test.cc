#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

Limits tiny_limits() {
  Limits limits;
  limits.stored_chunk = 1024;
  limits.decoded_chunk = 1024;
  limits.records_per_chunk = 4;
  limits.scan_bytes = 4096;
  limits.metadata_bytes = 1024;
  limits.nesting_depth = 4;
  return limits;
}

class LimitsTest : public SampleTest {
 protected:
  void expect_right_records(const Limits& limits) const {
    const Reading limited = read(bytes(), limits);
    EXPECT_EQ(joined(check_walk(limited.walk, bytes().size())), "");
    const Reading whole = read(bytes());
    EXPECT_TRUE(is_subsequence(limited.records, whole.records));
    if (limited.records.size() < whole.records.size()) {
      EXPECT_TRUE(limited.reports_damage());
    }
  }

  static std::uint64_t readable_bytes(const Layout& layout) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < layout.records(); ++i) {
      if (!layout.failure(i)) sum += layout.extent(i).size;
    }
    return sum;
  }
};

RECORDFS_FOR_EACH(containers(), LimitsTest);

TEST_P(LimitsTest, TinyLimitsYieldCorrectRecordsOrAnError) { expect_right_records(tiny_limits()); }

TEST_P(LimitsTest, SmallScanStepsYieldTheSameRecords) {
  Limits limits;
  limits.scan_bytes = 4096;
  // After a damaged head, recognizing the format may need more than scan_bytes.
  if (sample().want.damaged && !open(bytes(), limits)) return;
  EXPECT_EQ(read(bytes(), limits).records, read(bytes()).records);
}

TEST_P(LimitsTest, StoredBytesBeyondTheLimitAreRefused) {
  Limits limits;
  limits.stored_chunk = tiny_limits().stored_chunk;
  expect_right_records(limits);
}

TEST_P(LimitsTest, DecodedBytesBeyondTheLimitAreRefused) {
  Limits limits;
  limits.decoded_chunk = tiny_limits().decoded_chunk;
  expect_right_records(limits);
}

TEST_P(LimitsTest, RecordsBeyondTheLimitAreRefused) {
  Limits limits;
  limits.records_per_chunk = tiny_limits().records_per_chunk;
  expect_right_records(limits);
}

TEST_P(LimitsTest, NoDecodedChunkExceedsALimit) {
  const Limits limits = tiny_limits();
  const auto container = open(bytes(), limits);
  if (!container) return;
  for (const ChunkInfo& info : walk(**container, bytes().size()).chunks()) {
    const auto chunk = (*container)->decode({}, info);
    if (!chunk) continue;
    const Layout& layout = (*chunk)->layout();
    EXPECT_LE(layout.records(), limits.records_per_chunk) << to_string(info);
    EXPECT_LE(readable_bytes(layout), limits.decoded_chunk) << to_string(info);
    EXPECT_LE(info.stored_size, limits.stored_chunk) << to_string(info);
  }
}

TEST_P(LimitsTest, MetadataBeyondTheLimitIsRefusedButRecordsAreRead) {
  Limits limits;
  limits.metadata_bytes = 1;
  EXPECT_EQ(read(bytes(), limits).records, read(bytes()).records);
}

}  // namespace
}  // namespace recordfs::contract
