// Values of table records: with a database's internal keys, and with other keys.
#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/formats/leveldb_table/entries.h"
#include "tests/toy/parts.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::leveldb_table {
namespace {

std::string record(const std::string& key, const std::string& value) {
  return static_cast<char>(key.size()) + key + static_cast<char>(value.size()) + value;
}

std::string slice(const std::string& record, const Part& part) {
  return record.substr(static_cast<std::size_t>(part.extent.begin), static_cast<std::size_t>(part.extent.size));
}

std::string text_of(const Value& value) {
  const auto* const bytes = std::get_if<Bytes>(&value.is);
  return bytes ? std::string(as_text(*bytes)) : std::get<std::string>(value.is);
}

TEST(ContentTest, PutHasKeySequenceTypeAndValue) {
  const std::string put = record(internal_key("name", 77, 1), "value");
  const auto value = value_of(as_bytes(put), true);
  ASSERT_TRUE(value);
  const Parts parts = parts_in(*value, as_bytes(put));
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].key, "key");
  EXPECT_EQ(slice(put, parts[0]), "name");
  EXPECT_EQ(parts[1].text, "77\n");
  EXPECT_EQ(parts[2].text, "put\n");
  EXPECT_EQ(parts[3].key, "value");
  EXPECT_EQ(slice(put, parts[3]), "value");

  const auto& members = std::get<Value::Object>(value->is);
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(text_of(members[0].value), "name");
  EXPECT_EQ(std::get<std::uint64_t>(members[1].value.is), 77u);
  EXPECT_EQ(text_of(members[2].value), "put");
  EXPECT_EQ(text_of(members[3].value), "value");
}

TEST(ContentTest, DeletionHasNoValue) {
  const std::string gone = record(internal_key("name", 78, 0), "");
  EXPECT_EQ(std::get<Value::Object>(value_of(as_bytes(gone), true)->is).size(), 3u);
}

TEST(ContentTest, UserDefinedKeysAreShownUnchanged) {
  const std::string own = record("short", "");
  const auto value = value_of(as_bytes(own), false);
  ASSERT_TRUE(value);
  const Parts parts = parts_in(*value, as_bytes(own));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(slice(own, parts[0]), "short");
}

TEST(ContentTest, KeyTooShortForADatabaseIsDamage) {
  const std::string own = record("short", "");
  EXPECT_EQ(value_of(as_bytes(own), true).error().code, Code::kDamage);
}

TEST(ContentTest, InvalidRecordIsDamage) {
  for (const std::string bytes : {"", "\x01", "\x01k\x02v", "\x01k\x01vv"}) {
    EXPECT_EQ(value_of(as_bytes(bytes), false).error().code, Code::kDamage) << bytes;
  }
}

TEST(ContentTest, TypesOfEntriesAreKindsOfChanges) {
  const auto kind = [](std::uint8_t type) {
    return change_kind_of(as_bytes(record(internal_key("k", 5, type), "v")), true);
  };
  EXPECT_EQ(kind(1).value(), KeyChangeKind::kSet);
  EXPECT_EQ(kind(0).value(), KeyChangeKind::kDelete);
  EXPECT_EQ(kind(7).value(), KeyChangeKind::kDelete);
  EXPECT_EQ(kind(15).value(), KeyChangeKind::kDeleteRange);
  EXPECT_EQ(kind(2).value(), KeyChangeKind::kUnknown);
  EXPECT_EQ(change_kind_of(as_bytes(record("own", "v")), false).value(), KeyChangeKind::kSet);
}

TEST(KeysTest, DatabaseEntryIsRecognizedByItsTag) {
  const Bytes none{};
  const std::string value = "value";
  EXPECT_TRUE(is_entry_of_database(as_bytes(internal_key("", 0, 0)), none));
  EXPECT_TRUE(is_entry_of_database(as_bytes(internal_key("k", 1, 1)), as_bytes(value)));
  EXPECT_FALSE(is_entry_of_database(as_bytes(internal_key("k", 1, 0)), as_bytes(value)));
  EXPECT_FALSE(is_entry_of_database(as_bytes(internal_key("k", 1, 'x')), none));
  EXPECT_FALSE(is_entry_of_database(as_bytes(std::string("\0\0\0\0\0\0\0\x09", 8)), none)) << "a number, largest first";
  EXPECT_FALSE(is_entry_of_database(as_bytes(std::string("1234567")), none));
}

// Returns the content of a block with one restart point whose keys share nothing.
std::string block_of(const Entries& entries) {
  std::string content;
  for (const auto& [key, value] : entries) {
    content += '\0';
    protobuf::append_varint(content, key.size());
    protobuf::append_varint(content, value.size());
    content += key + value;
  }
  return content + std::string("\0\0\0\0\1\0\0\0", 8);
}

void expect_records(const Entries& entries) {
  auto content = Buffer::copy_of({}, as_bytes(block_of(entries)));
  ASSERT_TRUE(content);
  const auto chunk = decode_records({}, *std::move(content), 0, {}, {});
  ASSERT_TRUE(chunk);
  const Layout& layout = (*chunk)->layout();
  ASSERT_EQ(layout.records(), entries.size());
  EXPECT_EQ((*chunk)->payload_size(), layout.total());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Extent extent = layout.extent(i);
    const auto record = (*chunk)->read({}, extent.begin, extent.size);
    ASSERT_TRUE(record);
    const auto& [key, value] = entries[i];
    const std::string expected = record_front(as_bytes(key), value.size()) + value;
    EXPECT_TRUE(as_text(record->bytes) == expected) << i;
  }
}

TEST(ContentTest, OnlyEntryOfALargeBlockBecomesTheRecordInPlace) {
  expect_records({{"key", std::string(1u << 20, 'v')}});
  expect_records({{std::string(300, 'k'), std::string(1u << 20, 'v')}});
  expect_records({{std::string(1u << 20, 'k'), ""}});
}

TEST(ContentTest, LargeBlockIsFreedWhileItsRecordsAreWritten) {
  expect_records({{"a", std::string(20u << 20, 'v')}, {"b", "small"}, {"c", std::string(9u << 20, 'w')}});
}

}  // namespace
}  // namespace recordfs::leveldb_table
