#include "core/base/protobuf.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs::protobuf {
namespace {

// Returns "1v150 2l3" for a varint of 150 and a content of 3 bytes.
std::string describe(std::string_view message, std::uint32_t depth = 10) {
  MessageReader reader(as_bytes(message), depth);
  std::string text;
  while (reader.next()) {
    const Field& field = reader.field();
    text += std::to_string(field.number);
    text += field.type == WireType::kVarint ? "v" + std::to_string(field.value) : "l" + std::to_string(field.size);
    text += ' ';
  }
  auto whole = reader.finish();
  return whole ? text : text + std::string(to_string(whole.error().code));
}

TEST(MessageReader, ReturnsFieldsInOrder) {
  EXPECT_EQ(describe(""), "");
  EXPECT_EQ(describe("\x08\x96\x01\x12\x03pdq\x08\x01"), "1v150 2l3 1v1 ");
  EXPECT_EQ(describe("\x09xxxxxxxx\x15yyyy"), "1l8 2l4 ");
}

TEST(MessageReader, ReturnsThePositionOfTheContent) {
  const std::string_view message = "\x08\x01\x12\x03pdq\x08\x01";
  MessageReader reader(as_bytes(message), 10);
  ASSERT_TRUE(reader.next() && reader.next());
  EXPECT_EQ(as_text(reader.content()), "pdq");
  EXPECT_EQ(reader.content_begin(), 4u);
}

TEST(MessageReader, FieldsInGroupsAreNotThoseOfTheMessage) {
  EXPECT_EQ(describe("\x0b\x10\x07\x13\x14\x0c\x10\x05"), "1l0 2v5 ");
  EXPECT_EQ(describe("\x0b\x0b\x0c\x0c", 2), "1l0 ");
  EXPECT_EQ(describe("\x0b\x0b\x0c\x0c", 1), to_string(Code::kLimit));
}

TEST(MessageReader, BrokenMessagesAreDamage) {
  const std::string damage(to_string(Code::kDamage));
  for (const std::string_view message : {"\x12\x03pd", "\x08", "\x07", "\x02", "\x0c", "\x0b", "\x0b\x14", "\x80"}) {
    EXPECT_NE(describe(message).find(damage), std::string::npos) << ::testing::PrintToString(message);
  }
}

TEST(MessageReader, FieldsBeforeTheDamageAreReturned) {
  EXPECT_EQ(describe("\x08\x01\x12\x05x"), "1v1 " + std::string(to_string(Code::kDamage)));
}

TEST(AppendField, AppendedFieldIsReadBack) {
  std::string message;
  append_field(message, 16, std::string(300, 'x'));
  EXPECT_EQ(describe(message), "16l300 ");
  EXPECT_EQ(message.size(), 304u);
}

TEST(MessageReader, GroupIsOneField) {
  const std::string message("\x0b\x10\x05\x1b\x1c\x0c\x08\x07", 8);  // 1: {2: 5, 3: {}}, 1: 7
  MessageReader reader(as_bytes(message), 2);
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.field().is(1, WireType::kGroupStart));
  EXPECT_EQ(as_text(reader.content()), message.substr(1, 4));
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.field().is(1, WireType::kVarint));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.finish());
  MessageReader unclosed(as_bytes(message).first(5), 2);
  EXPECT_FALSE(unclosed.next());
  EXPECT_FALSE(unclosed.finish());
}

}  // namespace
}  // namespace recordfs::protobuf
