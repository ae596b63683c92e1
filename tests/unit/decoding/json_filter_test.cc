#include "core/decoding/json_filter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"

namespace recordfs::testing {
namespace {

constexpr std::string_view kPerson =
    R"({"name":"A \"B\"\n\u0007","age":7,"tags":["x","y,]}"],"home":{"street.name":"Main","no":[1,[2,3]]},"none":{}})";

constexpr std::string_view kExample =
    R"({"features":{"feature":{"a.b":{"float_list":{"value":[0.5]}},"image/class":{"bytes_list":{"value":[{"text":"cat"},)"
    R"({"base64":"/wAB"}]}},"label":{"int64_list":{"value":[64,7]}},"none":{"bytes_list":{"value":[]}}}}})";

using Json = nlohmann::ordered_json;

// Writes a value. An object whose only member is "base64" is bytes.
void write(JsonWriter& writer, const Json& value) {
  if (value.is_array()) {
    writer.begin_list();
    for (const Json& element : value) write(writer, element);
    return writer.end_list();
  }
  if (value.is_string()) return writer.string(value.get<std::string>());
  if (!value.is_object()) return writer.literal(value.dump());
  if (value == Json{{"base64", "/wAB"}}) return writer.bytes(as_bytes(std::string_view("\xff\0\1", 3)));
  if (value.size() == 1 && value.contains("text")) return writer.bytes(as_bytes(value["text"].get<std::string>()));
  writer.begin_object();
  for (const auto& [name, member] : value.items()) {
    writer.name(name);
    write(writer, member);
  }
  writer.end_object();
}

// Returns the values at a path, each followed by a bar.
std::string values_at(std::string_view json, const FieldPaths& fields, bool is_example = false) {
  std::string text;
  JsonFilter filter(fields, JsonFilter::Form::kValues);
  filter.begin_record(is_example);
  JsonWriter writer(text, JsonLayout::kLine, 10000, ByteForm::kAuto, &filter);
  write(writer, Json::parse(json));
  filter.finish();
  std::string values;
  filter.each_value(text, [&](std::string_view value) { (values += value) += '|'; });
  return values;
}

std::string values_at(std::string_view json, const std::string& path) { return values_at(json, FieldPaths({path})); }
std::string values_of(std::string_view example, const std::string& path) {
  return values_at(example, FieldPaths({path}), true);
}

std::string pick(std::string_view json, const FieldPaths& fields, bool is_example = false) {
  std::string line = "{\"a\":1";
  JsonFilter filter(fields, JsonFilter::Form::kMember);
  filter.begin_record(is_example);
  auto writer = JsonWriter::in_object(line, 10000, ByteForm::kAuto, &filter);
  writer.name("type");
  write(writer, Json::parse(R"({"b":[1]})"));
  writer.name("decoded");
  write(writer, Json::parse(json));
  filter.finish();
  constexpr std::string_view kBefore = R"({"a":1,"type":{"b":[1]},"decoded":)";
  EXPECT_TRUE(line.starts_with(kBefore));
  return line.substr(kBefore.size());
}

std::string text_at(const std::string& path) { return values_at(kPerson, path); }

std::string pick_json(std::string_view json, const std::vector<std::string>& paths) {
  return pick(json, FieldPaths(paths));
}

TEST(JsonFilter, PathLeadsToScalarsWithoutQuotesAndEscapes) {
  EXPECT_EQ(text_at("name"), "A \"B\"\n\a|");
  EXPECT_EQ(text_at("age"), "7|");
  EXPECT_EQ(text_at("home.street.name"), "Main|");
}

TEST(JsonFilter, EachElementOfAListIsAValue) {
  EXPECT_EQ(text_at("tags"), "x|y,]}|");
  EXPECT_EQ(text_at("home.no"), "1|2|3|");
  EXPECT_EQ(values_at(R"([{"a":1},{"b":2},{"a":[3]}])", "a"), "1|3|");
}

TEST(JsonFilter, ObjectWithoutMembersIsTrue) {
  EXPECT_EQ(text_at("none"), "true|");
  EXPECT_EQ(values_at(R"({"a":[{},{"b":{}},{"c":1},[],{"d":[]}]})", "a"), "true|true|1|");
  EXPECT_EQ(values_at(R"({"a":{"b":{}}})", "a.b"), "true|");
  EXPECT_EQ(values_of(R"({"features":{"feature":{"x":{}}}})", "x"), "") << "a feature of no kind";
}

TEST(JsonFilter, NamesMayBeEmpty) {
  EXPECT_EQ(values_at(R"({"":1,"a":{"":2},"b":{"":{"c":3}}})", ""), "1|");
  EXPECT_EQ(values_at(R"({"":1,"a":{"":2},"b":{"":{"c":3}}})", "a."), "2|");
  EXPECT_EQ(values_at(R"({"":1,"a":{"":2},"b":{"":{"c":3}}})", "b..c"), "3|");
  EXPECT_EQ(values_at(R"({"":{"c":4}})", ".c"), "4|");
}

TEST(JsonFilter, NullIsNoValue) {
  const FieldPaths fields({"a"});
  EXPECT_EQ(values_at(R"({"a":[null,1,{"b":null}]})", fields), "1|");
  EXPECT_EQ(values_at(R"({"a":null})", fields), "");
  EXPECT_EQ(fields.absent(), std::vector<std::string>());
}

TEST(JsonFilter, EachMemberOfAnObjectIsAValue) { EXPECT_EQ(text_at("home"), "Main|1|2|3|"); }

TEST(JsonFilter, FeatureHasItsOwnNameAsAPath) {
  EXPECT_EQ(values_of(kExample, "label"), "64|7|");
  EXPECT_EQ(values_of(kExample, "label.int64_list.value"), "64|7|");
  EXPECT_EQ(values_of(kExample, "features.feature.label"), "64|7|");
  EXPECT_EQ(values_of(kExample, "a.b"), "0.5|");
  EXPECT_EQ(values_of(R"({"context":{"feature":{"x":{"int64_list":{"value":[1]}}}}})", "x"), "1|");
  EXPECT_EQ(values_of(R"({"feature_lists":{"feature_list":{"x":{"feature":[{"int64_list":{"value":[1]}}]}}}})", "x"),
            "1|");
  EXPECT_EQ(pick(kExample, FieldPaths({"a.b"}), true),
            R"({"features":{"feature":{"a.b":{"float_list":{"value":[0.5]}}}}})");
}

TEST(JsonFilter, FeatureIsItselfAndNoOther) {
  EXPECT_EQ(values_of(R"({"features":{"feature":{"features":{"int64_list":{"value":[5]}},"x":{}}}})", "features"),
            "5|");
  EXPECT_EQ(values_of(kExample, "features"), "");
  EXPECT_EQ(values_at(kExample, "label"), "") << "no Example";
}

// Takes the scalars and elements of the first field.
class Counter final : public ScalarSink {
 public:
  void take(std::size_t /*field*/, const Scalar& /*value*/) override { ++scalars; }
  void note_element(std::size_t /*field*/) override { ++elements; }
  std::size_t scalars = 0;
  std::size_t elements = 0;
};

TEST(JsonFilter, ElementsAreThoseOfTheList) {
  const auto counts = [](std::string_view json, const char* path, bool is_example = false) {
    Counter counter;
    const FieldPaths fields({path});
    JsonFilter filter(fields, counter);
    filter.begin_record(is_example);
    std::string nothing;
    JsonWriter writer(nothing, JsonLayout::kLine, 0, ByteForm::kAuto, &filter);
    write(writer, Json::parse(json));
    return std::pair(counter.scalars, counter.elements);
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  constexpr const char* kObjects =
      R"({"o":[{"x":1,"n":["a","b"]},{},null,{"x":null,"n":[]}],"l":[[1,2],[],[null,3]],"s":1})";
  EXPECT_EQ(counts(kObjects, "o"), Counts(6, 4)) << "a null in a list is an element";
  EXPECT_EQ(counts(kObjects, "o.n"), Counts(2, 2));
  EXPECT_EQ(counts(kObjects, "l"), Counts(4, 3));
  EXPECT_EQ(counts(kObjects, "s"), Counts(1, 1));
  EXPECT_EQ(counts(kExample, "label", true), Counts(2, 2));
}

TEST(JsonFilter, NameWithTwoWaysIsSeveral) {
  const FieldPaths fields({"a.b", "c.d"});
  values_at(R"({"a":[{"b":1},{"b":2}],"c":{"d":3}})", fields);
  EXPECT_EQ(fields.several(), std::vector<std::string>());
  values_at(R"({"a.b":1})", fields);
  EXPECT_EQ(fields.several(), std::vector<std::string>{"a.b"});
  const FieldPaths in_one_record({"a.b"});
  values_at(R"({"a.b":1,"a":{"b":2}})", in_one_record);
  EXPECT_EQ(in_one_record.several(), std::vector<std::string>{"a.b"});
}

TEST(JsonFilter, BytesAreDecoded) {
  EXPECT_EQ(values_of(kExample, "image/class"), std::string("cat|\xff\0\1|", 8));
  EXPECT_EQ(values_at(kExample, "features.feature.image/class.bytes_list.value.base64"), "/wAB|");
}

TEST(JsonFilter, BytesOfAMemberHaveBothOfItsNames) {
  for (const char* const path : {"v", "v_base64"}) {
    for (const auto form : {JsonFilter::Form::kValues, JsonFilter::Form::kMember}) {
      const FieldPaths fields({path});
      JsonFilter filter(fields, form);
      std::string text = form == JsonFilter::Form::kValues ? "" : "{\"a\":1";
      JsonWriter values(text, JsonLayout::kLine, 100, ByteForm::kAuto, &filter);
      JsonWriter members = JsonWriter::in_object(text, 100, ByteForm::kAuto, &filter);
      JsonWriter& writer = form == JsonFilter::Form::kValues ? values : members;
      if (form == JsonFilter::Form::kMember) writer.name("decoded");
      writer.begin_object();
      writer.bytes("u", "u_base64", as_bytes(std::string_view("\xfe")));
      writer.bytes("v", "v_base64", as_bytes(std::string_view("\xff")));
      writer.end_object();
      const std::string value = std::string_view(path) == "v" ? "\xff" : "/w==";
      EXPECT_EQ(text, form == JsonFilter::Form::kValues ? value : R"({"a":1,"decoded":{"v_base64":"/w=="})") << path;
    }
  }
}

TEST(JsonFilter, PathThatLeadsNowhereIsAbsent) {
  for (const auto* path : {"nam", "name.x", "home.street", "home.", "tags.x", "x"}) {
    const FieldPaths fields({path});
    EXPECT_EQ(values_at(kPerson, fields), "");
    EXPECT_EQ(fields.absent(), std::vector<std::string>{path});
    EXPECT_EQ(pick_json(kPerson, {path}), "{}");
  }
}

TEST(JsonFilter, PathIsAbsentUnlessItLedSomewhereOnce) {
  const FieldPaths fields({"a", "b", "c"});
  EXPECT_EQ(fields.absent(), std::vector<std::string>{});
  fields.note({});
  EXPECT_EQ(fields.absent(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(pick(R"({"b":{}})", fields), R"({"b":{}})");
  EXPECT_EQ(values_at(R"({"c":[]})", fields), "");
  EXPECT_EQ(fields.absent(), std::vector<std::string>{"a"});
}

TEST(JsonFilter, OnlyPickedMembersAreLeft) {
  EXPECT_EQ(pick_json(kPerson, {"age", "home.no"}), R"({"age":7,"home":{"no":[1,[2,3]]}})");
  EXPECT_EQ(pick_json(kPerson, {"home.street.name", "home"}), R"({"home":{"street.name":"Main","no":[1,[2,3]]}})");
  EXPECT_EQ(pick_json(kPerson, {"none"}), R"({"none":{}})");
  EXPECT_EQ(pick_json(R"([{"a":1,"b":2},{"b":3},{"a":4}])", {"a"}), R"([{"a":1},{"a":4}])");
}

TEST(JsonFilter, NothingPickedIsAnEmptyValue) {
  EXPECT_EQ(pick_json(kPerson, {"x"}), "{}");
  EXPECT_EQ(pick_json("[1]", {"x"}), "[]");
  EXPECT_EQ(pick_json("\"text\"", {"x"}), "null");
}

TEST(JsonFilter, WhatIsTakenBackIsNotFound) {
  const FieldPaths fields({"a", "b"});
  std::string text;
  JsonFilter filter(fields, JsonFilter::Form::kValues);
  JsonWriter writer(text, JsonLayout::kLine, 10000, ByteForm::kAuto, &filter);
  const auto mark = writer.mark();
  writer.begin_object();
  writer.name("a");
  writer.begin_list();
  writer.string("1");
  writer.take_back(mark);
  write(writer, Json::parse(R"({"b":2})"));
  filter.finish();
  EXPECT_EQ(text, "2");
  EXPECT_EQ(fields.absent(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace recordfs::testing
