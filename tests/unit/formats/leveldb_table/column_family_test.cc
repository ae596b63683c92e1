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

std::optional<std::uint64_t> family_fact(const std::string& bytes) {
  const auto container = open_bytes(bytes);
  for (const Fact& fact : container->traits().facts) {
    if (fact.name == "column_family") return std::get<std::uint64_t>(fact.value);
  }
  return std::nullopt;
}

TEST(ColumnFamily, KeysBelongToTheFamilyNamedInTheProperties) {
  const std::string bytes = table_of_one_key().finish_rocksdb({{kFamilyId, "\x83\x02"}});
  EXPECT_EQ(family_fact(bytes), 259u);
}

TEST(ColumnFamily, KeysOfATableWithoutAFamilyBelongToTheDefault) {
  EXPECT_EQ(family_fact(table_of_one_key().finish()), std::nullopt);
  const std::string bytes = table_of_one_key().finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}});
  EXPECT_EQ(family_fact(bytes), std::nullopt);
}

TEST(ColumnFamily, UnknownAndInvalidNumbersYieldNoFamily) {
  const std::string written_for_none = "\xff\xff\xff\xff\x07";  // INT32_MAX
  const std::string too_large = "\x80\x80\x80\x80\x10";         // 2^32
  const std::string cut = "\x83";
  const std::string too_long = "\x03\x03";
  for (const std::string& number : {written_for_none, too_large, cut, too_long, std::string()}) {
    const std::string bytes = table_of_one_key().finish_rocksdb({{kFamilyId, number}});
    EXPECT_EQ(family_fact(bytes), std::nullopt);
  }
}

}  // namespace
}  // namespace recordfs::leveldb_table
