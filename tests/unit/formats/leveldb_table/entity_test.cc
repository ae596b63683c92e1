// Wide-column entities: both versions of the encoding, and what is no entity.
#include "core/formats/leveldb_table/entity.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs::leveldb_table {
namespace {

using namespace std::string_literals;

using Columns = std::vector<std::pair<std::string, std::string>>;

Columns columns_of(const std::string& encoded) {
  const auto columns = parse_entity(as_bytes(encoded), {});
  EXPECT_TRUE(columns);
  Columns texts;
  if (!columns) return texts;
  for (const EntityColumn& column : *columns) {
    texts.emplace_back(as_text(column.name),
                       (column.is_in_blob_file ? "blob " : "") + std::string(as_text(column.value)));
  }
  return texts;
}

std::string failure_of(const std::string& encoded, const Limits& limits = {}) {
  const auto columns = parse_entity(as_bytes(encoded), limits);
  return columns ? "none" : std::string(to_string(columns.error().code));
}

// Columns "" and "a" with the values "xy" and "z".
const std::string kInlineEntity = "\1\2\0\2\1a\1xyz"s;
const std::string kSectionedEntity = "\2\2\2\2\1\1\x11\0\1\2\1axyz"s;

TEST(EntityTest, ColumnsOfBothVersionsAreRead) {
  EXPECT_EQ(columns_of(kInlineEntity), (Columns{{"", "xy"}, {"a", "z"}}));
  EXPECT_EQ(columns_of(kSectionedEntity), (Columns{{"", "xy"}, {"a", "blob z"}}));
  EXPECT_EQ(columns_of("\1\0"s), Columns());
  EXPECT_EQ(columns_of("\2\0\0\0\0"s), Columns());
}

TEST(EntityTest, ColumnsAreMembersOfTheRecord) {
  Value::Object members;
  add_columns(as_bytes(kSectionedEntity), {}, members);
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0].name, "columns");
  const auto& columns = std::get<Value::List>(members[0].value.is);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(std::get<Value::Object>(columns[0].is).size(), 2u);
  const auto& second = std::get<Value::Object>(columns[1].is);
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(as_text(std::get<Bytes>(second[0].value.is)), "a");
  EXPECT_EQ(as_text(std::get<Bytes>(second[1].value.is)), "z");
  EXPECT_EQ(second[2].name, "in_blob_file");
  members.clear();
  add_columns(as_bytes("no entity"), {}, members);
  EXPECT_TRUE(members.empty());
}

TEST(EntityTest, EveryPrefixIsDamage) {
  for (const std::string& encoded : {kInlineEntity, kSectionedEntity}) {
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      EXPECT_EQ(failure_of(encoded.substr(0, size)), to_string(Code::kDamage)) << size;
    }
    EXPECT_EQ(failure_of(encoded + "!"), to_string(Code::kDamage));
  }
}

TEST(EntityTest, UnsortedColumnsAreDamage) {
  EXPECT_EQ(failure_of("\1\2\1b\1\1a\1yz"s), to_string(Code::kDamage));
  EXPECT_EQ(failure_of("\1\2\1a\1\1a\1yz"s), to_string(Code::kDamage));
}

TEST(EntityTest, LaterVersionsAndTypesAreUnsupported) {
  EXPECT_EQ(failure_of("\3\0"s), to_string(Code::kUnsupported));
  EXPECT_EQ(failure_of("\2\1\1\1\0\2\0\1x"s), to_string(Code::kUnsupported));
}

TEST(EntityTest, NumberOfColumnsIsLimitedBeforeMemoryIsTaken) {
  EXPECT_EQ(failure_of("\1\xff\xff\xff\xff\x0f"s + std::string(100, '\0')), to_string(Code::kDamage));
  EXPECT_EQ(failure_of(kInlineEntity, {.parts_per_record = 1}), to_string(Code::kLimit));
}

}  // namespace
}  // namespace recordfs::leveldb_table
