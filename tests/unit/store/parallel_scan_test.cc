#include "core/store/parallel_scan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/store/toy_store.h"

namespace recordfs {
namespace {

using testing::ToyStore;

ScanOptions with_threads(unsigned threads) {
  ScanOptions options;
  options.threads = threads;
  return options;
}

// Returns the concatenated records of a chunk.
std::string text_of(const RequestContext& context, const RecordStore& store, const ChunkInfo& info) {
  const auto chunk = store.chunks().decode_uncached(context, info);
  if (!chunk) return "[" + to_string(chunk.error()) + "]";
  std::string text;
  for (std::uint64_t i = 0; i < (*chunk)->layout().records(); ++i) {
    const auto record = store.records().read(context, **chunk, i, 0, UINT64_MAX);
    text += record ? std::string(as_text(record->bytes)) : "[" + to_string(record.error()) + "]";
  }
  return text;
}

std::string expected_of(const toy::File& file) {
  std::string text;
  for (const auto& record : file.records) text += record;
  return text;
}

TEST(Scan, FinishesInOrderWithAnyNumberOfThreads) {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    ToyStore toy({.chunks = 300});
    std::string text;
    const auto totals = scan(*toy.store, with_threads(threads),
                             [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                               return [&text, found = text_of(context, *toy.store, step.indexed->chunk)] {
                                 text += found;
                                 return true;
                               };
                             });
    ASSERT_TRUE(totals) << to_string(totals.error());
    EXPECT_EQ(text, expected_of(toy.file)) << threads;
    EXPECT_EQ(totals->records, toy.file.records.size());
  }
}

TEST(Scan, DecodesAChunkOnceIfItsLayoutNeedsThat) {
  for (const unsigned threads : {1u, 3u}) {
    ToyStore toy({.chunks = 100, .counts_in_header = false, .small_layout = false, .broken_payloads = {7}});
    std::string text;
    const auto totals = scan(*toy.store, with_threads(threads),
                             [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                               return [&text, found = text_of(context, *toy.store, step.indexed->chunk)] {
                                 text += found;
                                 return true;
                               };
                             });
    ASSERT_TRUE(totals) << to_string(totals.error());
    EXPECT_EQ(totals->chunks, 100u);
    EXPECT_EQ(toy.watch->decodes + toy.watch->layouts, 100u);
    EXPECT_LT(toy.services.chunks.statistics().bytes, 4096u);  // chunks that were read are not cached
  }
}

TEST(Scan, StopsBeforeAChunkThatFollowsTooManyDecodedBytes) {
  for (const unsigned threads : {1u, 3u}) {
    ToyStore toy({.chunks = 100});
    toy.services.limits.decoded_file = 5000;
    toy.services.limits.decoded_ratio = 0;
    std::string text;
    std::size_t chunks = 0;
    const auto totals = scan(*toy.store, with_threads(threads),
                             [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                               return [&, found = text_of(context, *toy.store, step.indexed->chunk)] {
                                 text += found;
                                 ++chunks;
                                 return true;
                               };
                             });
    ASSERT_FALSE(totals);
    EXPECT_EQ(totals.error().code, Code::kLimit);
    EXPECT_NE(totals.error().detail.find("--max-chunk"), std::string::npos) << totals.error().detail;
    EXPECT_EQ(totals.error().position, toy.file.begins[chunks]);
    EXPECT_GT(text.size(), 1000u);
    EXPECT_LT(text.size(), 5000u);
    EXPECT_TRUE(expected_of(toy.file).starts_with(text));
  }
}

TEST(Scan, ThatDoesNotDecodeCountsOnlyRecords) {
  ToyStore toy({.chunks = 50, .records_per_chunk = 1, .record_size = [](std::uint64_t) { return std::size_t{10000}; }});
  toy.services.limits.decoded_file = 50 * kBytesOfARecord;
  toy.services.limits.decoded_ratio = 0;
  ScanOptions options = with_threads(2);
  const auto nothing = [](const RequestContext&, const ScannedStep&) -> OrderedResult { return {}; };
  EXPECT_FALSE(scan(*toy.store, options, nothing));
  options.decodes = false;
  EXPECT_TRUE(scan(*toy.store, options, nothing));
}

TEST(Limits, LargestDecodedFileFollowsItsSizeAndTheLargestChunk) {
  EXPECT_EQ(largest_decoded_file(1, {}), std::uint64_t{3} << 30);
  EXPECT_EQ(largest_decoded_file(std::uint64_t{1} << 30, {}), std::uint64_t{2000} << 30);
  EXPECT_EQ(largest_decoded_file(UINT64_MAX, {}), UINT64_MAX);
  EXPECT_EQ(largest_decoded_file(1, limits_for_chunks_of(std::uint64_t{3} << 30)), std::uint64_t{9} << 30);
  EXPECT_EQ(largest_decoded_file(1, limits_for_chunks_of(1)), std::uint64_t{3} << 30);
}

TEST(Scan, EndsWhenTheCallbackReturnsFalse) {
  ToyStore toy({.chunks = 300});
  int finished = 0;
  std::atomic<int> worked{0};
  ASSERT_TRUE(scan(*toy.store, with_threads(2), [&](const RequestContext&, const ScannedStep&) -> OrderedResult {
    ++worked;
    return [&finished] { return ++finished < 3; };
  }));
  EXPECT_EQ(finished, 3);
  EXPECT_LT(worked, 300);
}

TEST(Scan, BeginsAtAPositionAndEndsBeforeARecord) {
  ToyStore toy({.chunks = 50});
  const auto from = testing::waited([&] { return toy.store->index().find({}, SearchKey::kChunks, 20); });
  const auto behind = testing::waited([&] { return toy.store->index().find({}, SearchKey::kChunks, 30); });
  ASSERT_TRUE(from && behind);
  ScanOptions options = with_threads(2);
  options.from = *from;
  options.end_record = behind->before.records;
  std::vector<std::uint64_t> chunks;
  ASSERT_TRUE(scan(*toy.store, options, [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
    return [&chunks, number = step.indexed->before.chunks] {
      chunks.push_back(number);
      return true;
    };
  }));
  EXPECT_EQ(chunks, (std::vector<std::uint64_t>{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
}

TEST(Scan, EndsBeforeAChunkThatBeginsAtAPosition) {
  ToyStore toy({.chunks = 40, .records_per_chunk = 3});
  std::vector<Position> begins;
  const auto collect = [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
    return [&begins, begin = step.indexed->chunk.begin] {
      begins.push_back(begin);
      return true;
    };
  };
  ASSERT_TRUE(scan(*toy.store, with_threads(2), collect));
  const std::vector<Position> all = std::exchange(begins, {});
  for (const std::size_t behind : {std::size_t{0}, std::size_t{1}, std::size_t{17}}) {
    for (const Position end : {all[behind], behind == 0 ? all[0] : all[behind - 1] + 1}) {
      ScanOptions options = with_threads(2);
      options.end_position = end;
      begins.clear();
      ASSERT_TRUE(scan(*toy.store, options, collect));
      EXPECT_EQ(begins, std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(behind))) << end;
    }
  }
}

TEST(Scan, HoldsNoMoreChunksThanItsMemoryAllows) {
  ToyStore toy({.chunks = 100});
  ScanOptions options = with_threads(2);
  options.memory = 0;
  std::atomic<int> held{0};
  int most = 0;
  ASSERT_TRUE(scan(*toy.store, options, [&](const RequestContext&, const ScannedStep&) -> OrderedResult {
    ++held;
    return [&] {
      most = std::max(most, held.load());
      --held;
      return true;
    };
  }));
  EXPECT_EQ(held, 0);
  EXPECT_LE(most, 64);  // those of one task
}

TEST(Scan, FailureOfTheScanFollowsTheChunksFound) {
  ToyStore toy({.chunks = 40});
  toy.watch->on_scan = [&](Position begin) {
    if (begin == toy.file.begins[20]) toy.source->fail(1'000'000, testing::bad_sector());
  };
  int finished = 0;
  const auto totals =
      scan(*toy.store, with_threads(2), [&](const RequestContext&, const ScannedStep&) -> OrderedResult {
        return [&] {
          ++finished;
          return true;
        };
      });
  ASSERT_FALSE(totals);
  EXPECT_EQ(totals.error().code, Code::kIo);
  EXPECT_EQ(finished, 20);
}

TEST(Scan, DamageIsReportedOnceInOrder) {
  ToyStore toy({.chunks = 10, .broken_headers = {4}});
  std::vector<Position> begins;
  ASSERT_TRUE(scan(*toy.store, with_threads(2), [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
    return [&begins, damage = step.damage] {
      for (const DamageRow& row : damage) begins.push_back(row.region.begin);
      return true;
    };
  }));
  EXPECT_EQ(begins, (std::vector<Position>{toy.file.begins[4]}));
}

}  // namespace
}  // namespace recordfs
