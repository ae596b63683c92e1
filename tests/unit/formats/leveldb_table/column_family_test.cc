// The column family of a table, which RocksDB states in the table's properties.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/leveldb_table/format.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::leveldb_table {
namespace {

constexpr const char* kFamilyId = "rocksdb.column.family.id";

std::unique_ptr<Container> open_bytes(const std::string& bytes) {
  auto opened =
      kFormat.open({}, std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value()), Limits{});
  EXPECT_TRUE(opened);
  return opened ? std::move(*opened) : nullptr;
}

TableWriter table_of_one_key() {
  TableWriter table;
  table.add({{internal_key("name", 7, 1), "value"}});
  return table;
}

// The families of all changes that the records of the first block make.
std::vector<std::uint32_t> families_in(const std::string& bytes) {
  std::vector<std::uint32_t> families;
  const auto container = open_bytes(bytes);
  const auto chunk =
      container->decode({}, container->scan({}, container->traits().first).value().chunk.value()).value();
  for (std::uint64_t i = 0; i < chunk->layout().records(); ++i) {
    const Extent extent = chunk->layout().extent(i);
    const auto record = chunk->read({}, extent.begin, extent.size);
    EXPECT_TRUE(record);
    const auto taken = container->schema().key_changes(record->bytes, [&families](const KeyChange& change) {
      families.push_back(change.family);
      return true;
    });
    EXPECT_TRUE(taken);
  }
  return families;
}

std::optional<std::uint64_t> family_fact(const std::string& bytes) {
  const auto container = open_bytes(bytes);
  for (const Fact& fact : container->traits().facts) {
    if (fact.name == "column_family") return std::get<std::uint64_t>(fact.value);
  }
  return std::nullopt;
}

using Families = std::vector<std::uint32_t>;

TEST(ColumnFamily, KeysBelongToTheFamilyNamedInTheProperties) {
  const std::string bytes = table_of_one_key().finish_rocksdb({{kFamilyId, "\x83\x02"}});
  EXPECT_EQ(families_in(bytes), Families{259});
  EXPECT_EQ(family_fact(bytes), 259u);
}

TEST(ColumnFamily, KeysOfATableWithoutAFamilyBelongToTheDefault) {
  EXPECT_EQ(families_in(table_of_one_key().finish()), Families{0});
  const std::string bytes = table_of_one_key().finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}});
  EXPECT_EQ(families_in(bytes), Families{0});
  EXPECT_EQ(family_fact(bytes), std::nullopt);
}

TEST(ColumnFamily, UnknownAndInvalidNumbersYieldNoFamily) {
  const std::string written_for_none = "\xff\xff\xff\xff\x07";  // INT32_MAX
  const std::string too_large = "\x80\x80\x80\x80\x10";         // 2^32
  const std::string cut = "\x83";
  const std::string too_long = "\x03\x03";
  for (const std::string& number : {written_for_none, too_large, cut, too_long, std::string()}) {
    const std::string bytes = table_of_one_key().finish_rocksdb({{kFamilyId, number}});
    EXPECT_EQ(families_in(bytes), Families{0});
    EXPECT_EQ(family_fact(bytes), std::nullopt);
  }
}

}  // namespace
}  // namespace recordfs::leveldb_table
