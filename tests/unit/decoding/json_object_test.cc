#include "core/decoding/json_writer.h"

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

TEST(JsonObject, MembersKeepTheirPlaceWhenTheyAreReplaced) {
  JsonObject object;
  object.set("first", std::uint64_t{1});
  object.set("second", true);
  object.set("first", "one");
  EXPECT_EQ(to_json(object, JsonLayout::kLine), "{\"first\":\"one\",\"second\":true}\n");
  EXPECT_EQ(std::get<bool>(*object.find("second")), true);
  EXPECT_EQ(object.find("third"), nullptr);
}

TEST(JsonObject, ListsObjectsAndNullAreWritten) {
  JsonObject inner;
  inner.set("none", std::optional<std::uint64_t>());
  inner.set("some", std::optional<std::uint64_t>(7));
  JsonObject object;
  object.set("list", JsonObject::List{inner});
  object.set("object", inner);
  object.set("ratio", 0.5);
  EXPECT_EQ(to_json(object, JsonLayout::kLine),
            "{\"list\":[{\"none\":null,\"some\":7}],\"object\":{\"none\":null,\"some\":7},\"ratio\":0.5}\n");
}

TEST(JsonObject, BytesThatAreNotUtf8AreReplaced) {
  JsonObject object;
  object.set("a\xFF", "\xC3\xA9\xC3");
  EXPECT_EQ(to_json(object, JsonLayout::kIndented), "{\n  \"a\xEF\xBF\xBD\": \"\xC3\xA9\xEF\xBF\xBD\"\n}\n");
}

}  // namespace
}  // namespace recordfs::testing
