// Damaged logs that the databases' own readers read differently. FORMAT.md, "Differences", explains each.

#include <gtest/gtest.h>

#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::leveldb_log {
namespace {

struct Difference {
  std::string_view file;
  std::size_t records;
  std::size_t failures;
  std::size_t regions;
};

// Printed by gtest if a test fails.
void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.file; }

constexpr Difference kDifferences[] = {
    {"damaged/crc-flip-payload-full.log", 9, 0, 1},
    {"damaged/crc-flip-stored-checksum.log", 9, 0, 1},
    {"damaged/crc-flip-first.log", 9, 0, 2},
    {"damaged/type-005-valid-crc.log", 4, 0, 1},
    {"damaged/type-009-bad-crc.log", 4, 0, 1},
    {"damaged/type0-zero-length-valid-crc.log", 3, 0, 1},
    {"damaged/zero-gap-then-append.log", 4, 0, 1},
    {"damaged/block-missing.log", 9, 0, 0},
    {"damaged/nonzero-trailer.log", 2, 0, 0},
    {"damaged/torn-then-appended.log", 7, 0, 1},
    {"rocksdb-direct/recycled-crc-flip.log", 2, 0, 1},
    {"rocksdb-direct/zstd-bad-frame-valid-crc.log", 2, 1, 0},
    {"rocksdb-direct/zstd-unknown-compression.log", 0, 3, 0},
    {"rocksdb-main/ignorable-type-inside-record.log", 2, 0, 1},
    {"rocksdb-direct/zstd-block-aligned.log", 3, 0, 0},
};

class CorpusTest : public ::testing::TestWithParam<Difference> {};
INSTANTIATE_TEST_SUITE_P(Differences, CorpusTest, ::testing::ValuesIn(kDifferences));

TEST_P(CorpusTest, SampleIsReadAsDocumented) {
  const Reading reading = read_log(testing::read_file("tests/corpus/leveldb_log/" + std::string(GetParam().file)));
  EXPECT_EQ(reading.records.size(), GetParam().records);
  EXPECT_EQ(reading.failures.size(), GetParam().failures);
  EXPECT_EQ(reading.damage.size(), GetParam().regions) << describe(reading.damage);
}

}  // namespace
}  // namespace recordfs::leveldb_log
