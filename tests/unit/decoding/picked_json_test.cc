#include "core/decoding/picked_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace recordfs::testing {
namespace {

constexpr std::string_view kPerson =
    R"({"name":"A \"B\"\n\u0007","age":7,"tags":["x","y,]}"],"home":{"street.name":"Main","no":[1,[2,3]]},"none":{}})";

std::string text_at(std::string_view path) { return json_text_at(kPerson, path).value_or("nothing"); }

TEST(PickedJson, PathLeadsToScalarsWithoutQuotesAndEscapes) {
  EXPECT_EQ(text_at("name"), "A \"B\"\n\a");
  EXPECT_EQ(text_at("age"), "7");
  EXPECT_EQ(text_at("home.street.name"), "Main");
}

TEST(PickedJson, PathGoesThroughLists) {
  EXPECT_EQ(text_at("tags"), "x\ny,]}");
  EXPECT_EQ(text_at("home.no"), "1\n2\n3");
  EXPECT_EQ(json_text_at(R"([{"a":1},{"b":2},{"a":[3]}])", "a").value_or(""), "1\n3");
}

TEST(PickedJson, ObjectIsItsJson) { EXPECT_EQ(text_at("none"), "{}"); }

TEST(PickedJson, PathThatLeadsNowhereHasNoValue) {
  for (const auto* path : {"nam", "name.x", "home.street", "home.", "tags.x", "x"}) EXPECT_EQ(text_at(path), "nothing");
}

TEST(PickedJson, OnlyPickedMembersAreLeft) {
  EXPECT_EQ(pick_json(kPerson, {"age", "home.no"}), R"({"age":7,"home":{"no":[1,[2,3]]}})");
  EXPECT_EQ(pick_json(kPerson, {"home.street.name", "home"}), R"({"home":{"street.name":"Main","no":[1,[2,3]]}})");
  EXPECT_EQ(pick_json(kPerson, {"none"}), R"({"none":{}})");
  EXPECT_EQ(pick_json(R"([{"a":1,"b":2},{"b":3},{"a":4}])", {"a"}), R"([{"a":1},{"a":4}])");
}

TEST(PickedJson, NothingPickedIsAnEmptyValue) {
  EXPECT_EQ(pick_json(kPerson, {"x"}), "{}");
  EXPECT_EQ(pick_json("[1]", {"x"}), "[]");
  EXPECT_EQ(pick_json("\"text\"", {"x"}), "null");
}

TEST(PickedJson, TextThatIsNoJsonEnds) {
  for (const auto* text :
       {"", "{", "[", "[}", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[,", "[\"\\", "{\"a\":\"\\u00", "}", "\""}) {
    json_text_at(text, "a");
    json_text_at(text, "");
    EXPECT_LE(pick_json(text, {"a"}).size(), std::string(text).size() + 4);
  }
}

}  // namespace
}  // namespace recordfs::testing
