#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "tests/contract/sample_test.h"
#include "tests/contract/stream.h"

namespace recordfs::contract {
namespace {

class ContentTest : public SampleTest {
 protected:
  // A damaged sample gives the expected records, or reports the damage. In the latter case the difference is printed
  // for review.
  void judge_damaged(const Stream& stream, const Reading& reading) const {
    const auto& right = sample().want.right;
    if (std::ranges::find(right, stream) != right.end()) return;
    EXPECT_TRUE(reading.reports_damage())
        << stream.records << " records differ from the expectation, but no damage is reported";
    std::cout << "differs: " << sample().name << ": " << stream.records << " records, "
              << (right.empty() ? 0 : right.front().records) << " expected\n";
  }

  void judge_undamaged(const Stream& stream, const Reading& reading) const {
    ASSERT_EQ(sample().want.right.size(), 1u);
    EXPECT_EQ(stream.records, sample().want.right[0].records);
    EXPECT_EQ(stream.sha256, sample().want.right[0].sha256);
    EXPECT_EQ(reading.walk.errors.size() + reading.refused.size() + reading.failures.size(), 0u);
  }
};

class UndamagedTest : public SampleTest {};

RECORDFS_FOR_EACH(containers(), ContentTest);
RECORDFS_FOR_EACH(undamaged_containers(), UndamagedTest);

TEST_P(ContentTest, RecordsMatchTheExpectation) {
  const auto container = open_sample();
  StreamDigest digest;
  Reading reading;
  if (container) {
    reading = read_all(*container, bytes().size(), [&](std::uint64_t, Bytes record) { digest.add(record); });
  } else {
    reading.walk.errors.push_back({Code::kNoContainer, 0, "refused"});
  }
  const Stream stream = digest.finish();
  sample().want.damaged ? judge_damaged(stream, reading) : judge_undamaged(stream, reading);
}

TEST_P(UndamagedTest, SampledRecordsMatchTheExpectation) {
  std::map<std::uint64_t, ExpectedRecord> due;
  for (const ExpectedRecord& record : sample().want.some) due[record.ordinal] = record;
  const auto container = open_sample();
  ASSERT_TRUE(container);
  const auto check = [&](std::uint64_t ordinal, Bytes record) {
    const auto found = due.find(ordinal);
    if (found == due.end()) return;
    EXPECT_EQ(record.size(), found->second.size) << "record " << ordinal;
    EXPECT_EQ(sha256(record), found->second.sha256) << "record " << ordinal;
    due.erase(found);
  };
  read_all(*container, bytes().size(), check);
  EXPECT_TRUE(due.empty());
}

TEST_P(UndamagedTest, ChunksMatchTheExpectation) {
  const auto container = open_sample();
  ASSERT_TRUE(container);
  const auto chunks = walk(*container, bytes().size()).chunks();
  if (sample().want.chunks.empty()) return;
  ASSERT_EQ(chunks.size(), sample().want.chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i].begin, sample().want.chunks[i].begin) << "chunk " << i;
    EXPECT_EQ(chunks[i].end, sample().want.chunks[i].end) << "chunk " << i;
  }
}

// Reads single records through fresh keys, as the store does after an eviction.
TEST_P(ContentTest, RecordReadByAddressEqualsSequentialRead) {
  const auto container = open_sample();
  if (!container) return;
  const Reading all = read_all(*container, bytes().size());
  if (all.records.empty()) return;
  std::map<Position, ChunkKey> keys;
  for (const ChunkInfo& chunk : all.walk.chunks()) keys[chunk.begin] = chunk.key;
  std::mt19937_64 random(1);
  std::uint64_t cost = bytes().size();
  for (const Mark& mark : all.records) cost += mark.size + 20;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(200, rounds(cost, 20)); ++i) {
    const Mark& due = all.records[random() % all.records.size()];
    const auto step = container->scan({}, keys.at(due.chunk_begin));
    ASSERT_TRUE(step && step->chunk);
    const auto chunk = container->decode({}, *step->chunk);
    ASSERT_TRUE(chunk);
    const Extent extent = (*chunk)->layout().extent(due.index);
    const auto slice = (*chunk)->read({}, extent.begin, extent.size);
    ASSERT_TRUE(slice);
    EXPECT_EQ(std::hash<std::string_view>()(as_text(slice->bytes)), due.hash)
        << "record " << due.index << " of the chunk at " << due.chunk_begin;
  }
}

TEST_P(ContentTest, EightThreadsReadTheSameAsOne) {
  const auto container = open_sample();
  if (!container) return;
  const Reading one = read_all(*container, bytes().size());
  std::vector<Reading> many(8);
  {
    std::vector<std::jthread> threads;
    for (Reading& reading : many) {
      threads.emplace_back([&] { reading = read_all(*container, bytes().size()); });
    }
  }
  for (const Reading& reading : many) {
    EXPECT_EQ(reading.records, one.records);
    EXPECT_EQ(reading.refused.size(), one.refused.size());
    EXPECT_EQ(reading.failures.size(), one.failures.size());
  }
}

// A damaged sample contains no record that the sample it was made from does not have.
TEST_P(ContentTest, DamagedSampleYieldsOnlyRecordsOfTheOriginal) {
  if (sample().want.undamaged.empty()) return;
  const auto container = open_sample();
  const auto& all = all_samples();
  const auto original = std::ranges::find_if(all, [&](const Sample& other) {
    return other.format == sample().format && other.file_name == sample().want.undamaged;
  });
  if (!container || original == all.end()) return;
  const auto whole = original->bytes();
  auto opened = original->format->open({}, source_of(*whole), Limits{});
  ASSERT_TRUE(opened);
  EXPECT_TRUE(is_subsequence(read_all(*container, bytes().size()).records, read_all(**opened, whole->size()).records));
}

TEST_P(ContentTest, DecodeLayoutAndVerifyAgreeAboutEachChunk) {
  const auto container = open_sample();
  if (!container) return;
  auto chunks = walk(*container, bytes().size()).chunks();
  std::mt19937_64 random(2);
  std::vector<ChunkInfo> some;
  const auto count = static_cast<std::ptrdiff_t>(rounds(2 * bytes().size() / (chunks.size() + 1), 20));
  std::ranges::sample(chunks, std::back_inserter(some), count, random);
  for (const ChunkInfo& chunk : some) EXPECT_EQ(joined(check_chunk(*container, chunk, random())), "");
}

}  // namespace
}  // namespace recordfs::contract
