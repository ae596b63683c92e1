// Tables without an index, and with more damage: blocks are found by their checksums.
#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "core/formats/leveldb_table/format.h"
#include "tests/contract/reading.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::leveldb_table {
namespace {

constexpr int kPerBlock = 10;

contract::Reading read(const std::string& bytes) {
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  auto container = kFormat.open({}, source, Limits{});
  EXPECT_TRUE(container);
  return container ? contract::read_all(**container, bytes.size()) : contract::Reading{};
}

// Returns values whose bytes resemble nothing else in the table.
std::string noise(int seed, std::size_t size) {
  std::string bytes(size, '\0');
  auto state = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

TableWriter table_of(int blocks, std::size_t value_size) {
  TableWriter table;
  for (int block = 0; block < blocks; ++block) {
    Entries entries;
    for (int i = 0; i < kPerBlock; ++i) {
      const int number = block * kPerBlock + i;
      const auto key = "key" + std::to_string(1000000 + number);
      entries.emplace_back(internal_key(key, static_cast<std::uint64_t>(number), 1), noise(number, value_size));
    }
    table.add(entries);
  }
  return table;
}

TEST(SalvageTest, DamageOfAMegabyteIsSkippedWithoutAnIndex) {
  const TableWriter table = table_of(600, 500);
  std::string bytes = table.blocks();
  ASSERT_GT(bytes.size(), 3u << 20);
  const std::size_t block = bytes.size() / 600;
  const std::size_t first_lost = 100;
  const std::size_t last_lost = first_lost + (1200 << 10) / block;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(first_lost * block + 1),
            bytes.begin() + static_cast<std::ptrdiff_t>(last_lost * block + 1), 'x');
  const auto reading = read(bytes);
  EXPECT_EQ(reading.records.size(), kPerBlock * (600 - (last_lost - first_lost + 1)));
  const auto damage = reading.walk.damage();
  ASSERT_EQ(damage.size(), 2u);  // this damage, and the missing end
  EXPECT_EQ(damage[0].begin, first_lost * block);
  EXPECT_EQ(damage[0].end, (last_lost + 1) * block);
  EXPECT_EQ(damage[1].damage_class, DamageClass::kUnfinished);
}

TEST(SalvageTest, UndamagedBlocksAreReadBetweenBrokenOnes) {
  const TableWriter table = table_of(40, 50);
  std::string bytes = table.blocks();
  const std::size_t block = bytes.size() / 40;
  for (std::size_t i = 1; i < 40; i += 2) bytes[i * block + 60] = static_cast<char>(bytes[i * block + 60] ^ 4);
  EXPECT_EQ(read(bytes).records.size(), 20u * kPerBlock);
}

TEST(SalvageTest, IndexOfALostBlockIsNotMistakenForData) {
  std::string bytes = table_of(1, 50).finish();
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);  // the magic
  EXPECT_EQ(read(bytes).records.size(), 0u);
}

TEST(SalvageTest, IndexWhoseOnlyKeyIsShortenedIsNotMistakenForData) {
  constexpr std::uint64_t kMostSequence = (std::uint64_t{1} << 56) - 1;
  TableWriter table = table_of(1, 50);
  table.add({{internal_key("l", kMostSequence, 1), std::string("\x00\xca\x19", 3)}});  // the place of a lost block
  EXPECT_EQ(read(table.blocks()).records.size(), std::size_t{kPerBlock});
}

TEST(SalvageTest, FileWithABrokenFirstBlockIsReadIfItHasAFooter) {
  std::string bytes = table_of(5, 50).finish();
  bytes[40] = static_cast<char>(bytes[40] ^ 1);                                // the first block
  bytes[bytes.size() - 60] = static_cast<char>(bytes[bytes.size() - 60] ^ 1);  // the index
  const auto reading = read(bytes);
  EXPECT_EQ(reading.records.size(), 4u * kPerBlock);
  EXPECT_EQ(reading.walk.damage().size(), 2u);
}

TEST(SalvageTest, BlockLargerThanAStepIsFoundInSeveralSteps) {
  TableWriter table;
  table.add({{internal_key("large", 1, 1), noise(1, 100000)}});
  table.add({{internal_key("small", 2, 1), "value"}});
  const std::string& bytes = table.blocks();
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  Limits limits;
  limits.scan_bytes = 4096;
  auto container = kFormat.open({}, source, limits);
  ASSERT_TRUE(container);
  const auto reading = contract::read_all(**container, bytes.size());
  EXPECT_EQ(reading.records.size(), 2u);
  EXPECT_GT(reading.walk.visits.size(), 20u);
}

std::string corpus_file(const std::string& name) { return testing::read_file("tests/corpus/leveldb_table/" + name); }

// One table for each kind of checksum, by LevelDB and by RocksDB.
const std::vector<std::string> kTables = {"leveldb-restarts.ldb",  "rocksdb-snappy.sst",    "rocksdb7-default.sst",
                                          "rocksdb7-xxhash64.sst", "rocksdb7-xxhash32.sst", "rocksdb9-version-6.sst"};

std::vector<std::size_t> hashes_of(const std::vector<contract::Mark>& records) {
  std::vector<std::size_t> hashes;
  for (const contract::Mark& record : records) hashes.push_back(record.hash);
  return hashes;
}

// Returns the records of the whole file except for the chunk that begins at `lost`.
std::vector<std::size_t> without(const contract::Reading& whole, Position lost) {
  auto kept = whole.records;
  std::erase_if(kept, [&](const contract::Mark& record) { return record.chunk_begin == lost; });
  return hashes_of(kept);
}

TEST(ShiftedTest, DeletedOrInsertedBytesLoseOnlyTheirBlock) {
  for (const std::string& name : kTables) {
    const std::string bytes = corpus_file(name);
    const auto whole = read(bytes);
    const auto chunks = whole.walk.chunks();
    ASSERT_GT(chunks.size(), 3u) << name;
    const Position hit = chunks[1].begin;
    std::string less = bytes;
    less.erase(hit + 5, 10);
    std::string more = bytes;
    more.insert(hit + 5, 5000, 'x');
    for (const std::string& damaged : {less, more}) {
      const auto reading = read(damaged);
      EXPECT_EQ(hashes_of(reading.records), without(whole, hit)) << name;
      EXPECT_TRUE(reading.reports_damage());
    }
  }
}

TEST(ShiftedTest, TableWithoutItsBeginningIsReadFromTheSecondBlock) {
  for (const std::string& name : kTables) {
    const std::string bytes = corpus_file(name);
    const auto whole = read(bytes);
    const auto reading = read(bytes.substr(whole.walk.chunks()[0].end - 3));
    EXPECT_EQ(hashes_of(reading.records), without(whole, 0)) << name;
    EXPECT_TRUE(reading.reports_damage());
  }
}

TEST(ShiftedTest, BothOfTwoConcatenatedTablesAreRead) {
  const std::string second = corpus_file("rocksdb7-default.sst");
  for (const std::string& name : {kTables[0], kTables[1], kTables[2], kTables[3]}) {
    const std::string first = corpus_file(name);
    auto expected = hashes_of(read(first).records);
    const auto from_second = hashes_of(read(second).records);
    expected.insert(expected.end(), from_second.begin(), from_second.end());
    EXPECT_EQ(hashes_of(read(first + second).records), expected) << name;
  }
}

TEST(ShiftedTest, BytesAfterTheFooterAreReportedAndLoseNothing) {
  for (const std::string& name : kTables) {
    const std::string bytes = corpus_file(name);
    const auto whole = read(bytes);
    const auto padded = read(bytes + std::string(5000, '\0'));
    EXPECT_EQ(padded.records, whole.records) << name;
    EXPECT_TRUE(padded.reports_damage());
    const auto longer = read(bytes + "something else");
    EXPECT_EQ(longer.records, whole.records) << name;
    EXPECT_TRUE(longer.reports_damage());
  }
}

// Only the footer has the context of the checksums since format version 6.
TEST(SalvageTest, BlocksWithXxHashChecksumsAreFoundWithoutAFooter) {
  for (const std::string& name :
       {kTables[2], kTables[3], kTables[4], kTables[5], std::string("rocksdb-version-6.sst")}) {
    const std::string bytes = corpus_file(name);
    const auto reading = read(bytes.substr(0, bytes.size() - 60));
    EXPECT_EQ(reading.records, read(bytes).records) << name;
    EXPECT_TRUE(reading.reports_damage());
  }
}

TEST(ProbeTest, TableIsRecognizedByItsFooterOrElseItsFirstBlock) {
  const auto bid = [](const std::string& bytes, ProbeDepth depth, std::string_view name = "table") {
    const MemorySource source(Buffer::copy_of({}, as_bytes(bytes)).value());
    return kFormat.probe({}, source, name, depth).value();
  };
  const std::string whole = table_of(3, 50).finish();
  EXPECT_EQ(bid(whole, ProbeDepth::kHead), 64);
  const std::string cut = whole.substr(0, whole.size() - 1);
  EXPECT_EQ(bid(cut, ProbeDepth::kHead), 0);
  EXPECT_EQ(bid(cut, ProbeDepth::kHead, "000005.ldb"), 32);
  EXPECT_EQ(bid(cut, ProbeDepth::kHead, "000005.sst"), 32);
  EXPECT_EQ(bid(noise(1, 5000), ProbeDepth::kHead, "000005.ldb"), 0);
  EXPECT_EQ(bid(cut, ProbeDepth::kSearch), 32);
  EXPECT_EQ(bid(std::string(5000, '\0'), ProbeDepth::kSearch), 0);
  EXPECT_EQ(bid(noise(1, 5000), ProbeDepth::kSearch), 0);
  EXPECT_EQ(bid("", ProbeDepth::kSearch), 0);
}

// Returns a table whose properties have this number, and the checksum of the number 0.
std::string ingested_table(const std::string& number) {
  const std::string name = "rocksdb.external_sst_file.global_seqno";
  std::string bytes = table_of(3, 20).finish_rocksdb({{name, std::string(8, '\0')}});
  return bytes.replace(bytes.find(name) + name.size(), number.size(), number);
}

Result<std::vector<Attribute>> properties_of(const std::string& bytes) {
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  return kFormat.open({}, source, Limits{}).value()->metadata()->attributes({}, nullptr);
}

TEST(IngestedTableTest, SequenceNumberStoredAfterTheChecksumIsNoDamage) {
  const std::string number("\x15\0\0\0\0\0\0\0", 8);
  const auto properties = properties_of(ingested_table(number));
  ASSERT_TRUE(properties) << to_string(properties.error());
  ASSERT_EQ(properties->size(), 1u);
  EXPECT_EQ(properties->front().value, number);
}

TEST(IngestedTableTest, ChangedByteBesideTheSequenceNumberIsDamage) {
  const auto properties = properties_of(ingested_table(std::string("\x15\0\0\0\0\0\0\0\1", 9)));
  ASSERT_FALSE(properties);
  EXPECT_EQ(properties.error().code, Code::kDamage);
}

}  // namespace
}  // namespace recordfs::leveldb_table
