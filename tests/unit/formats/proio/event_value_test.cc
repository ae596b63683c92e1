// The values of handmade events.
#include "core/formats/proio/event.h"

#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include "tests/unit/formats/proio/streams.h"

namespace recordfs::proio {
namespace {

std::string shown(const Value& value);

std::string shown(const Value::List& list) {
  std::string text;
  for (const Value& each : list) text += (text.empty() ? "" : " ") + shown(each);
  return "[" + text + "]";
}

std::string shown(const Value::Object& object) {
  std::string text;
  for (const Member& member : object) {
    text += (text.empty() ? "" : " ") + std::string(member.name) + "=" + shown(member.value);
  }
  return "{" + text + "}";
}

std::string shown(const Value& value) {
  if (const auto* list = std::get_if<Value::List>(&value.is)) return shown(*list);
  if (const auto* object = std::get_if<Value::Object>(&value.is)) return shown(*object);
  if (const auto* bytes = std::get_if<Bytes>(&value.is)) return "'" + std::string(as_text(*bytes)) + "'";
  if (const auto* number = std::get_if<std::uint64_t>(&value.is)) return std::to_string(*number);
  if (const auto* message = std::get_if<Message>(&value.is)) {
    return std::string(message->type) + "(" + std::string(as_text(message->bytes)) + ")";
  }
  return "?";
}

std::string describe_value(std::string_view event, const Limits& limits = {}) {
  const auto value = value_of_event(as_bytes(event), limits, ValueForm::kJson);
  return value ? shown(*value) : "!" + std::string(to_string(value.error().code));
}

TEST(EventValue, EmptyEventHasNoTagsAndNoEntries) { EXPECT_EQ(describe_value(""), "{tags={} entries=[]}"); }

TEST(EventValue, TagsListTheirIdsAndEntriesTheirMessages) {
  const std::string event = type(1, ".proio.Hit") + entry(10, 1, "ten") + entry(2, 3, "two") + tag("b", {10, 7, 10}) +
                            tag("a", {}) + number(2, 10);
  EXPECT_EQ(describe_value(event), "{tags={a=[] b=[10 7 10]} entries=[{id=2 =(two)} {id=10 =proio.Hit(ten)}]}");
}

TEST(EventValue, LastOneOfADuplicateKeyReplacesTheOthers) {
  EXPECT_EQ(describe_value(entry(1, 9, "old") + entry(1, 0, "new") + tag("t", {1}) + tag("t", {}) + type(0, "a") +
                           type(0, "b")),
            "{tags={t=[]} entries=[{id=1 =b(new)}]}");
}

TEST(EventValue, NonTextNamesAreIgnored) {
  EXPECT_EQ(describe_value(entry(1, 1, "x") + type(1, "a\xff") + tag("t", {1}) + tag("\xff", {1}) + tag("\xfe", {})),
            "{tags={t=[1]} other_tags=[{tag='\xfe' ids=[]} {tag='\xff' ids=[1]}] entries=[{id=1 =(x)}]}");
}

TEST(EventValue, InvalidEventHasNoValue) { EXPECT_EQ(describe_value("\x0a\x50"), "!damage"); }

TEST(EventValue, MoreValuesThanTheLimitAreRefused) {
  Limits limits;
  limits.parts_per_record = 13;
  const std::string event = entry(1, 0, "") + entry(2, 0, "");
  EXPECT_EQ(describe_value(event + tag("t", {}), limits), "{tags={t=[]} entries=[{id=1 =()} {id=2 =()}]}");
  EXPECT_EQ(describe_value(event + tag("t", {1}), limits), "!limit");
}

}  // namespace
}  // namespace recordfs::proio
