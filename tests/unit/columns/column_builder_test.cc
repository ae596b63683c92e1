// Values of fields as columns.
#include "core/columns/column_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/base/protobuf.h"

namespace recordfs {
namespace {

std::string entry(std::string_view key, std::string_view value) {
  std::string in;
  if (!key.empty()) protobuf::append_field(in, 1, key);
  protobuf::append_field(in, 2, value);
  std::string out;
  protobuf::append_field(out, 1, in);
  return out;
}

TEST(ColumnBuilder, LastOfSeveralEntriesOfAMapWithOneKeyCounts) {
  const MessageField text{.name = "key", .number = 1, .type = FieldType::kString};
  MessageField value = text;
  value.name = "value";
  value.number = 2;
  const MessageField map{.name = "m",
                         .number = 1,
                         .type = FieldType::kMessage,
                         .is_repeated = true,
                         .is_map = true,
                         .fields = {text, value}};
  const MessageField root{.name = "root", .number = 1, .type = FieldType::kMessage, .fields = {map}};
  ColumnBudget budget(1u << 20);
  ColumnBuilder builder(root, budget);
  const std::string message = entry("a", "1") + entry("b", "2") + entry("a", "3") + entry("", "4") + entry("", "5");
  ASSERT_TRUE(builder.append_message(as_bytes(message)));
  ASSERT_TRUE(builder.append_message({}));
  ASSERT_TRUE(builder.append_message(as_bytes(entry("c", "6"))));
  const ArrowColumn rows = builder.finish();
  const ArrowColumn& items = rows.children.front().children.front();
  EXPECT_EQ(rows.length, 3);
  EXPECT_EQ(items.length, 4);
  EXPECT_EQ(as_text(items.children[0].buffers[2].bytes), "bac");
  EXPECT_EQ(as_text(items.children[1].buffers[2].bytes), "2356");
}

TEST(ColumnBuilder, NumberThatAClosedEnumLacksIsNoValue) {
  MessageField item{.name = "e",
                    .number = 1,
                    .type = FieldType::kEnum,
                    .has_presence = true,
                    .enumerators = std::make_shared<const Enumerators>(Enumerators{{1, "A"}, {2, "B"}}),
                    .default_number = 2,
                    .is_closed = true};
  MessageField list = item;
  list.number = 2;
  list.is_repeated = true;
  list.has_presence = false;
  MessageField of_entry = item;
  of_entry.number = 3;
  of_entry.has_presence = false;
  const MessageField root{.name = "root", .number = 1, .type = FieldType::kMessage, .fields = {item, list, of_entry}};
  ColumnBudget budget(1u << 20);
  ColumnBuilder builder(root, budget);
  for (const std::string_view message : {"\x08\x01\x08\x09\x10\x09\x12\x03\x02\x09\x01\x10\x01", "\x08\x09\x18\x09"}) {
    ASSERT_TRUE(builder.append_message(as_bytes(message)));
  }
  const ArrowColumn rows = builder.finish();
  EXPECT_EQ(as_text(rows.children[0].buffers[2].bytes), "A");
  EXPECT_EQ(rows.children[0].null_count, 1);
  EXPECT_EQ(as_text(rows.children[1].children.front().buffers[2].bytes), "BAA");
  EXPECT_EQ(as_text(rows.children[2].buffers[2].bytes), "BB");
}

}  // namespace
}  // namespace recordfs
