// Indexes in two levels of which a part is damaged: its data blocks are found by their checksums.
#include <memory>

#include "core/database/table.h"
#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

constexpr const char* kTable = "000009.sst";

// Changes a byte of each of these parts of the index; returns how many parts it has.
std::size_t damage_parts(const Copy& copy, const std::vector<std::size_t>& parts) {
  const auto source = FileSource::open(copy.path(kTable));
  EXPECT_TRUE(source);
  const auto table = Table::open({}, *source, {}, Limits{});
  EXPECT_TRUE(table && (*table)->has_two_levels());
  for (const std::size_t part : parts) {
    copy.flip(kTable, static_cast<std::ptrdiff_t>((*table)->blocks().place(part).begin + 2));
  }
  return (*table)->blocks().size();
}

void expect_all_keys(const Copy& copy) {
  const auto intact = open_database(kCorpus + "rocksdb7-partitioned");
  const auto wanted = list_keys(*intact);
  const auto database = open_database(copy.folder());
  const auto keys = list_keys(*database);
  ASSERT_EQ(keys.size(), wanted.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i].key, wanted[i].key);
    EXPECT_EQ(keys[i].value, wanted[i].value);
    EXPECT_EQ(get(*database, wanted[i].key), wanted[i].value);
  }
  const auto problems = database->problems();
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.front().file, kTable);
  EXPECT_EQ(problems.front().error.code, Code::kDamage);
}

TEST(LostPartitionTest, BlocksOfADamagedPartAreFound) {
  const std::size_t parts = damage_parts(Copy("rocksdb7-partitioned"), {});
  ASSERT_GT(parts, 2u);
  for (const std::size_t part : {std::size_t{0}, parts / 2, parts - 1}) {
    const Copy copy("rocksdb7-partitioned");
    damage_parts(copy, {part});
    expect_all_keys(copy);
  }
}

TEST(LostPartitionTest, BlocksOfConsecutiveDamagedPartsAreFound) {
  const std::size_t count = damage_parts(Copy("rocksdb7-partitioned"), {});
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  for (const auto& parts : {std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{count - 2, count - 1}, all}) {
    const Copy copy("rocksdb7-partitioned");
    damage_parts(copy, parts);
    expect_all_keys(copy);
  }
}

TEST(LostPartitionTest, KeysOfADamagedBlockOfADamagedPartAreReportedAsLost) {
  const Copy copy("rocksdb7-partitioned");
  damage_parts(copy, {0});
  copy.flip(kTable, 2);  // in the first data block
  const auto intact = open_database(kCorpus + "rocksdb7-partitioned");
  const auto database = open_database(copy.folder());
  const auto wanted = list_keys(*intact);
  const auto keys = list_keys(*database);
  EXPECT_LT(keys.size(), wanted.size());
  EXPECT_GT(keys.size(), 0u);
  for (const ListedKey& key : wanted) {
    const std::string value = get(*database, key.key);
    EXPECT_TRUE(value == key.value || value == to_string(Code::kDamage)) << key.key << ": " << value;
  }
}

}  // namespace
}  // namespace recordfs::database
