// Values of fields as columns.
#include "core/columns/column_builder.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace recordfs
