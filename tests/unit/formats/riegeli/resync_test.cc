#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/wire.h"
#include "core/hash/highway.h"
#include "tests/unit/formats/container_reading.h"
#include "tests/unit/formats/riegeli/walk.h"
#include "tests/unit/support/counting_source.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::riegeli {
namespace {

using riegeli_writer::simple_chunk;
using riegeli_writer::Writer;

// A file of chunks with one record each, all different.
struct Sample {
  std::string file;
  std::vector<std::string> records;
  std::vector<Position> begins;  // of the chunks, and the file's end
};

Sample sample_of(std::uint64_t size, std::size_t record_size = 3000, std::string name = "record") {
  Writer writer;
  Sample sample;
  while (writer.size() < size) {
    sample.records.push_back(name + " " + std::to_string(sample.records.size()) + std::string(record_size, 'r'));
    sample.begins.push_back(writer.add(simple_chunk({sample.records.back()})));
  }
  sample.begins.push_back(writer.size());
  sample.file = writer.file();
  return sample;
}

std::vector<std::string> records_left_in(const std::string& file) {
  std::vector<std::string> records;
  for (const ReadRecord& record : read_file(file).records) records.push_back(record.bytes);
  return records;
}

// Returns the records of the sample without chunks `[first, last)`.
std::vector<std::string> without(const Sample& sample, std::size_t first, std::size_t last) {
  std::vector<std::string> rest(sample.records.begin(), sample.records.begin() + static_cast<std::ptrdiff_t>(first));
  rest.insert(rest.end(), sample.records.begin() + static_cast<std::ptrdiff_t>(last), sample.records.end());
  return rest;
}

bool reports_damage(const std::string& file) {
  const auto container = open_bytes(file);
  if (!container) return false;
  const auto damage = walk(*container, file.size()).damage;
  return std::ranges::any_of(damage,
                             [](const DamagedRegion& region) { return region.damage_class != DamageClass::kStale; });
}

// Expects locate() to find every chunk that the scan finds.
void expect_located(const std::string& file) {
  const auto container = open_bytes(file);
  ASSERT_TRUE(container);
  for (const ChunkInfo& chunk : walk(*container, file.size()).chunks) {
    for (const Position at : {chunk.begin, chunk.end - 1}) {
      const auto found = container->locate({}, at);
      ASSERT_TRUE(found && *found) << at;
      EXPECT_EQ((*found)->key, chunk.key) << at;
      EXPECT_EQ((*found)->end, chunk.end) << at;
    }
  }
}

TEST(Resync, DeletedBytesLoseOnlyTheirChunk) {
  const Sample sample = sample_of(20 * kBlockSize);
  for (const std::uint64_t size : {1u, 100u, 2900u}) {
    std::string file = sample.file;
    file.erase(sample.begins[7] + 60, size);
    EXPECT_EQ(records_left_in(file), without(sample, 7, 8)) << size;
    EXPECT_TRUE(reports_damage(file));
    expect_located(file);
  }
}

TEST(Resync, InsertedBytesLoseOnlyTheirChunk) {
  const Sample sample = sample_of(20 * kBlockSize);
  for (const std::string& foreign : {std::string(1, 'x'), std::string(5000, '\0'), std::string(200000, '\n')}) {
    std::string file = sample.file;
    file.insert(sample.begins[30] + 500, foreign);
    EXPECT_EQ(records_left_in(file), without(sample, 30, 31)) << foreign.size();
    expect_located(file);
  }
}

TEST(Resync, DeletedChunksAreReportedThoughTheRestIsConsistent) {
  const Sample sample = sample_of(3 * kBlockSize);
  std::string file = sample.file;
  file.erase(sample.begins[2], sample.begins[4] - sample.begins[2]);
  EXPECT_EQ(records_left_in(file), without(sample, 2, 4));
  EXPECT_TRUE(reports_damage(file));
}

TEST(Resync, FileWithoutItsBeginningIsRead) {
  for (const std::uint64_t size : {kBlockSize / 2, 3 * kBlockSize}) {
    const Sample sample = sample_of(size);
    for (const Position cut : {Position{1}, Position{64}, sample.begins[3], sample.begins[3] + 7}) {
      const std::string file = sample.file.substr(cut);
      const auto kept = std::ranges::lower_bound(sample.begins, cut) - sample.begins.begin();
      EXPECT_EQ(records_left_in(file), without(sample, 0, static_cast<std::size_t>(kept))) << cut;
      EXPECT_TRUE(reports_damage(file));
      expect_located(file);
    }
  }
}

TEST(Resync, SecondOfTwoConcatenatedFilesIsRead) {
  const Sample first = sample_of(2 * kBlockSize);
  const Sample second = sample_of(3 * kBlockSize, 700, "other");
  std::vector<std::string> both = first.records;
  both.insert(both.end(), second.records.begin(), second.records.end());
  EXPECT_EQ(records_left_in(first.file + second.file), both);
  EXPECT_FALSE(reports_damage(first.file + second.file));
  const std::string cut = first.file.substr(0, first.file.size() - 10) + second.file;
  both.erase(both.begin() + static_cast<std::ptrdiff_t>(first.records.size()) - 1);
  EXPECT_EQ(records_left_in(cut), both);
}

TEST(Resync, ChunksBetweenBrokenBlockHeadersAreFoundByTheirHeaders) {
  const Sample sample = sample_of(4 * kBlockSize);
  std::string file = sample.file;
  for (std::uint64_t block = 0; block < 4; ++block) file[block * kBlockSize + 3] ^= 1;
  for (const std::size_t chunk : {1u, 5u, 40u}) file[sample.begins[chunk] + 2] ^= 1;
  auto expected = without(sample, 40, 41);
  expected.erase(expected.begin() + 5);
  expected.erase(expected.begin() + 1);
  EXPECT_EQ(records_left_in(file), expected);
}

TEST(Resync, FileInsideARecordIsNotRead) {
  const Sample inner = sample_of(kBlockSize / 2, 300, "inner");
  const Sample large = sample_of(3 * kBlockSize, 300, "inner");
  for (const bool is_large : {false, true}) {
    Writer writer;
    const Position broken = writer.add(simple_chunk({"before", is_large ? large.file : inner.file, "behind"}));
    writer.add(simple_chunk({"last"}));
    std::string file = writer.file();
    file[broken + 9] ^= 1;
    // Only a block header gives the end of the inner file.
    EXPECT_EQ(records_left_in(file), is_large ? std::vector<std::string>{"last"} : std::vector<std::string>{});
    EXPECT_EQ(records_left_in(file.substr(0, broken + 9000)), std::vector<std::string>{});
  }
}

// Each header is valid, but no data. A search that trusted each header would read all of the data again for each.
TEST(Resync, HeadersWithoutDataTakeBoundedTime) {
  const std::string chunk = sample_of(100, 60000).file.substr(64, kChunkHeaderSize);
  std::string file(64, 'x');
  while (file.size() < 16 * kBlockSize) file += chunk;
  EXPECT_TRUE(records_left_in(file).empty());
}

std::string word(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string with_hash(const std::string& bytes) { return word(riegeli_hash(as_bytes(bytes))) + bytes; }

// Each chunk declares half a megabyte that does not match its hash, and another one begins 85 bytes after it, where a
// block header confirms it. A scan that hashed each of them would hash the file hundreds of times.
TEST(Resync, ChunksThatEndAtTheNextOneAreNotAllHashed) {
  constexpr std::size_t kChunks = 300, kDistance = 85, kToBlock = 60, kDataSize = 500'000;
  std::string file = Writer().file();
  for (std::size_t i = 0; i < kChunks; ++i) {
    const std::size_t begin = 64 + i * kDistance;
    file.resize(begin, '\xff');
    file += with_hash(word(kDataSize) + word(0x1234) + "r" + word(1).substr(0, 7) + word(1));
    file.resize(begin + kToBlock, '\xff');
    const std::size_t blocks = (kToBlock + kDataSize) / kBlockSize;
    file += with_hash(word(kToBlock) + word(kChunkHeaderSize + kDataSize + (blocks + 1) * kBlockHeaderSize - kToBlock));
  }
  file.resize(file.size() + 2 * kDataSize, '\xff');
  const auto source = std::make_shared<testing::CountingSource>(file);
  const auto container = kFormat.open({}, source, Limits{});
  ASSERT_TRUE(container);
  const auto scanned = testing::scan_all(**container);
  EXPECT_GT(scanned.chunks.size() + scanned.damage.size(), 1u);
  EXPECT_LT(source->take_read_bytes(), 20 * file.size());
}

}  // namespace
}  // namespace recordfs::riegeli
