#include "core/decoding/picked_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace recordfs::testing {
namespace {

constexpr std::string_view kPerson =
    R"({"name":"A \"B\"\n\u0007","age":7,"tags":["x","y,]}"],"home":{"street.name":"Main","no":[1,[2,3]]},"none":{}})";

constexpr std::string_view kExample =
    R"({"features":{"feature":{"a.b":{"float_list":{"value":[0.5]}},"image/class":{"bytes_list":{"value":[{"text":"cat"},)"
    R"({"base64":"/wAB"}]}},"label":{"int64_list":{"value":[64,7]}},"none":{"bytes_list":{"value":[]}}}}})";

// Returns the values at a path, each followed by a bar.
std::string values_at(std::string_view json, const std::string& path) {
  std::string values;
  FieldPaths({path}).each_value(json, [&](std::string_view value) { (values += value) += '|'; });
  return values;
}

std::string text_at(const std::string& path) { return values_at(kPerson, path); }

std::string pick_json(std::string_view json, const std::vector<std::string>& paths) {
  return FieldPaths(paths).pick(json);
}

TEST(PickedJson, PathLeadsToScalarsWithoutQuotesAndEscapes) {
  EXPECT_EQ(text_at("name"), "A \"B\"\n\a|");
  EXPECT_EQ(text_at("age"), "7|");
  EXPECT_EQ(text_at("home.street.name"), "Main|");
}

TEST(PickedJson, EachElementOfAListIsAValue) {
  EXPECT_EQ(text_at("tags"), "x|y,]}|");
  EXPECT_EQ(text_at("home.no"), "1|2|3|");
  EXPECT_EQ(values_at(R"([{"a":1},{"b":2},{"a":[3]}])", "a"), "1|3|");
}

TEST(PickedJson, EachMemberOfAnObjectIsAValue) {
  EXPECT_EQ(text_at("home"), "Main|1|2|3|");
  EXPECT_EQ(text_at("none"), "");
}

TEST(PickedJson, FeatureHasItsOwnNameAsAPath) {
  EXPECT_EQ(values_at(kExample, "label"), "64|7|");
  EXPECT_EQ(values_at(kExample, "features.feature.label"), "64|7|");
  EXPECT_EQ(values_at(kExample, "a.b"), "0.5|");
  EXPECT_EQ(values_at(R"({"context":{"feature":{"x":{"int64_list":{"value":[1]}}}}})", "x"), "1|");
  EXPECT_EQ(values_at(R"({"feature_lists":{"feature_list":{"x":{"feature":[{"int64_list":{"value":[1]}}]}}}})", "x"),
            "1|");
  EXPECT_EQ(pick_json(kExample, {"a.b"}), R"({"features":{"feature":{"a.b":{"float_list":{"value":[0.5]}}}}})");
}

TEST(PickedJson, BytesAreDecoded) {
  EXPECT_EQ(values_at(kExample, "image/class"), std::string("cat|\xff\0\1|", 8));
  EXPECT_EQ(values_at(R"({"a":{"base64":"not base64!"}})", "a"), "not base64!|");
  EXPECT_EQ(values_at(R"({"a":{"base64":"AAAA","b":1}})", "a"), "AAAA|1|");
}

TEST(PickedJson, PathThatLeadsNowhereIsAbsent) {
  for (const auto* path : {"nam", "name.x", "home.street", "home.", "tags.x", "x"}) {
    const FieldPaths fields({path});
    fields.each_value(kPerson, [](std::string_view value) { ADD_FAILURE() << value; });
    EXPECT_EQ(fields.absent(), std::vector<std::string>{path});
    EXPECT_EQ(pick_json(kPerson, {path}), "{}");
  }
}

TEST(PickedJson, PathIsAbsentUnlessItLedSomewhereOnce) {
  const FieldPaths fields({"a", "b", "c"});
  EXPECT_EQ(fields.absent(), std::vector<std::string>{});
  fields.look_at_nothing();
  EXPECT_EQ(fields.absent(), (std::vector<std::string>{"a", "b", "c"}));
  fields.pick(R"({"b":{}})");
  fields.each_value(R"({"c":[]})", [](std::string_view) {});
  EXPECT_EQ(fields.absent(), std::vector<std::string>{"a"});
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
    values_at(text, "a");
    values_at(text, "");
    EXPECT_LE(pick_json(text, {"a"}).size(), std::string(text).size() + 4);
  }
}

}  // namespace
}  // namespace recordfs::testing
