#include "core/search/condition.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/decoding/json_writer.h"

namespace recordfs {
namespace {

using Json = nlohmann::ordered_json;

void write(JsonWriter& writer, const Json& value) {
  if (value.is_structured()) {
    value.is_array() ? writer.begin_list() : writer.begin_object();
    for (const auto& [name, member] : value.items()) {
      if (value.is_object()) writer.name(name);
      write(writer, member);
    }
    return value.is_array() ? writer.end_list() : writer.end_object();
  }
  if (value.is_string()) return writer.string(value.get<std::string>());
  if (value.is_number_unsigned()) return writer.number(value.get<std::uint64_t>());
  if (value.is_number_integer()) return writer.number(value.get<std::int64_t>());
  if (value.is_number_float()) return writer.number(value.get<double>());
  writer.literal(value.dump());
}

constexpr std::string_view kRecord = R"({
  "label": 3, "big": 9223372036854775808, "most": 18446744073709551615, "minus": -9223372036854775808, "half": 0.5,
  "two63": 9223372036854775808.0, "name": "cat's", "split": "val-1", "yes": true, "nothing": null, "empty": [],
  "tags": ["a", "bc"], "numbers": [1, 2, 3], "mixed": [1, "x"], "home": {"street.name": "Main", "no": [7]},
  "a b": 1, "c`d": 2, "not": 4, "len": 5, "deep": {"in": {"side": [{"x": 1}, {"x": 2}]}}, "object": {}, "text": "",
  "objects": [{"x": null}], "": 8, "dot": {"": 6},
  "boxes": [[1, 2], [3]], "people": [{"n": "abc"}, {"n": "x"}], "gaps": [1, null, 2]})";

bool holds(std::string_view text, std::string_view record = kRecord) {
  const auto condition = Condition::parse(text);
  if (!condition) {
    ADD_FAILURE() << text << "\n" << condition.error().detail;
    return false;
  }
  const FieldPaths fields((*condition)->names());
  ConditionEvaluation evaluation(**condition);
  JsonFilter filter(fields, evaluation);
  std::string nothing;
  JsonWriter writer(nothing, JsonLayout::kLine, 0, ByteForm::kAuto, &filter);
  write(writer, Json::parse(record));
  EXPECT_EQ(nothing, "");
  return evaluation.finish();
}

TEST(Condition, TrueForTheRecord) {
  for (const auto* text : {"label = 3",
                           "label == 3.0",
                           "label != 4",
                           "label<>4",
                           "label in (1, 3)",
                           "label not in (1, 2)",
                           "not absent in (1)",
                           "tags not in ('bc')",
                           "label not in ('3')",
                           "count(absent) not in (1)",
                           "len(name) not in (4, 6)",
                           "label >= 3",
                           "label<4",
                           "big > 9223372036854775807",
                           "big = 9223372036854775808.0",
                           "most > 1.8446744073709550e19",
                           "minus = -9223372036854775808",
                           "minus < -9223372036854775807",
                           "minus = -9.223372036854775808e18",
                           "half = .5",
                           "half < +1",
                           "name = 'cat''s'",
                           "name = \"cat's\"",
                           "name > 'cat'",
                           "split ~ '^val'",
                           "split !~ \"^train\"",
                           "split ~ '\\d$'",
                           "yes = true",
                           "yes != FALSE",
                           "yes in (true)",
                           "nothing is null",
                           "empty is null",
                           "len(empty) = 0",
                           "object is not null and object = true and count(object) = 1",
                           "objects is not null and not objects = true and objects.x IS NULL",
                           "\"\" = 8 and `dot.` = 6 and dot = 6 and `a.` is null",
                           "absent is null",
                           "label is not null",
                           "tags = 'bc'",
                           "tags != 'bc'",
                           "mixed = 'x' and mixed = 1",
                           "numbers > 2 and numbers < 2",
                           "len(name) = 5",
                           "len(tags) = 2",
                           "len(tags) = 1",
                           "len(numbers) = 3",
                           "count(tags) = 2",
                           "count(home) = 1",
                           "count(deep.in.side) = 2",
                           "len(deep.in.side) = 2",
                           "count(absent) = 0",
                           "len(text) = 0",
                           "text = ''",
                           "count(numbers) in (3, 4)",
                           "count(boxes) = 2 and len(boxes) = 2 and boxes = 3",
                           "count(people) = 2 and len(people) = 2 and len(people.n) = 3",
                           "count(gaps) = 3 and count(people.n) = 2",
                           "home.no = 7",
                           "home.street.name = 'Main'",
                           "home = 'Main'",
                           "home = 7",
                           "`a b` = 1",
                           "\"a b\" = 1",
                           "`c``d` = 2",
                           "\"not\" = 4",
                           "len = 5",
                           "deep.in.side.x = 2",
                           "deep = 1",
                           "not label = 4",
                           "label = 4 or label = 3 and half = 0.5",
                           "not (label = 4 or label = 5)",
                           "not label = 4 and yes = true",
                           "NOT absent = 3",
                           "name != 3",
                           "(((label = 3)))"}) {
    EXPECT_TRUE(holds(text)) << text;
  }
}

TEST(Condition, FalseForTheRecord) {
  for (const auto* text : {"label = 4",
                           "label = '3'",
                           "label > 'a'",
                           "big = 9223372036854775807",
                           "big < 9223372036854775808.0",
                           "most = 18446744073709551616.0",
                           "minus < -9.3e18",
                           "name = 'Cat''s'",
                           "name = 3",
                           "name < 'cat'",
                           "split ~ '^al'",
                           "yes = false",
                           "yes = 1",
                           "label = true",
                           "nothing is not null",
                           "nothing = 0",
                           "nothing != 0",
                           "absent != 3",
                           "absent in (1)",
                           "absent not in (1)",
                           "nothing not in (1)",
                           "len(absent) not in (1)",
                           "count(absent) not in (0)",
                           "absent !~ 'x'",
                           "len(absent) = 0",
                           "len(empty) > 0",
                           "len(tags) = 3",
                           "len(people) = 3",
                           "count(boxes) = 3",
                           "label ~ '3'",
                           "tags = 'b'",
                           "home.street = 'Main'",
                           "not label = 3",
                           "label = 3 and label = 4",
                           "not (label = 3) or half = 1",
                           "deep.x = 1",
                           "text is null",
                           "label in ('3', true)",
                           "label not in (3)"}) {
    EXPECT_FALSE(holds(text)) << text;
  }
}

TEST(Condition, NanDiffersFromAllNumbers) {
  const auto condition = Condition::parse("x = 1 or x < 1 or x >= 1 or x in (1)").value();
  ConditionEvaluation evaluation(*condition);
  evaluation.take(0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(evaluation.finish());
}

TEST(Condition, NumbersThatNoDoubleIsNearToKeepTheirOrder) {
  const auto holds_for = [](const char* text, std::string_view number) {
    const auto condition = Condition::parse(text).value();
    const FieldPaths fields(condition->names());
    ConditionEvaluation evaluation(*condition);
    JsonFilter filter(fields, evaluation);
    std::string nothing;
    JsonWriter writer(nothing, JsonLayout::kLine, 0, ByteForm::kAuto, &filter);
    writer.begin_object();
    writer.name("x");
    writer.literal(number);
    writer.end_object();
    return evaluation.finish();
  };
  const std::string zeros(400, '0');
  const std::vector<std::string> larges = {"1e400", "1" + zeros, "0.01e999", "1" + zeros + ".5E-2",
                                           "1e+99999999999999999999"};
  for (const std::string& large : larges) {
    EXPECT_TRUE(holds_for("x > 1e308 and x is not null", large)) << large;
    EXPECT_TRUE(holds_for("x < -1e308", "-" + large)) << large;
  }
  const std::vector<std::string> smalls = {"1e-400", "0." + zeros + "1", "100e-999", "-1e-99999999999999999999"};
  for (const std::string& small : smalls) {
    EXPECT_TRUE(holds_for("x = 0", small)) << small;
  }
}

TEST(Condition, FloatEqualsItsValueAndItsShortestDigits) {
  const auto holds_for = [](const char* text, float value) {
    const auto condition = Condition::parse(text).value();
    ConditionEvaluation evaluation(*condition);
    evaluation.take(0, value);
    return evaluation.finish();
  };
  for (const auto* text : {"x = 0.1", "x <= 0.1", "x in (1, 0.1)", "x < 0.11", "x = 0.100000001490116119384765625"}) {
    EXPECT_TRUE(holds_for(text, 0.1f)) << text;
  }
  for (const auto* text : {"x != 0.1", "x > 0.1", "x < 0.1", "x = 0.10000001"}) {
    EXPECT_FALSE(holds_for(text, 0.1f)) << text;
  }
  EXPECT_TRUE(holds_for("x = 1073741824 and x != 1073741825", 1073741824.0f));
  EXPECT_TRUE(holds_for("x = 9223372036854775808 and x = 9.223372e18", 9223372036854775808.0f));
}

TEST(Condition, UnknownValueMattersOnlyIfTheConditionDependsOnIt) {
  using Truth = Condition::Truth;
  const auto truth_of = [](const char* text) {
    const auto condition = Condition::parse(text).value();
    ConditionEvaluation evaluation(*condition);
    evaluation.take(0, std::string_view("t"));
    evaluation.note_element(1);
    return evaluation.finish(1);
  };
  for (const char* const text : {"tag = 't' or value > 1", "tag = 't' and value is not null and count(value) = 1"}) {
    EXPECT_EQ(truth_of(text), Truth::kTrue) << text;
  }
  EXPECT_EQ(truth_of("tag = 'u' and not value > 1"), Truth::kFalse);
  EXPECT_EQ(truth_of("tag = 't' and not (value in (1, 2))"), Truth::kUnknown);
}

TEST(Condition, NamesAreThoseOfTheFieldsOnce) {
  EXPECT_EQ(Condition::parse("a.b = 1 and len(`x y`) > 2 or a.b is null").value()->names(),
            (std::vector<std::string>{"a.b", "x y"}));
}

TEST(Condition, ErrorsPointAtThePlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "a condition is expected, such as label = 3\n  \n  ^"},
      {"label = ", "a value is expected\n  label = \n          ^"},
      {"label = cat", "a text is written in quotes, and a field is on the left\n  label = cat\n          ^"},
      {"'a' = 3", "a field is expected here (a name that needs quotes has ` or \")\n  'a' = 3\n  ^"},
      {"é = 'ü' && x", "unexpected character\n  é = 'ü' && x\n          ^"},
      {"a = 'x", "a quote without its end (a quote inside is doubled)\n  a = 'x\n      ^"},
      {"a ~ '('", "bad pattern: (: missing ): (\n  a ~ '('\n      ^"},
      {"a = 18446744073709551616",
       "an integer out of range (1e30 is not an integer)\n  a = 18446744073709551616\n      ^"},
      {"a = 1x", "not a decimal number, or one that is out of the range of a double\n  a = 1x\n      ^"},
      {"a < 1e-400", "not a decimal number, or one that is out of the range of a double\n  a < 1e-400\n      ^"},
      {"len(count(a)) = 1", "only a field has len() and count()\n  len(count(a)) = 1\n            ^"},
      {"a = null", "null is not compared (try: is null)\n  a = null\n      ^"},
      {"a < true", "true and false have no order (try: = or !=)\n  a < true\n    ^"},
      {"len(a) = 'x'", "a number is expected\n  len(a) = 'x'\n           ^"},
      {"(a = 1", ") is expected\n  (a = 1\n        ^"},
      {"a = 1 b = 2", "`and`, `or` or the end is expected\n  a = 1 b = 2\n        ^"},
      {"and = 1", "a field is expected here, left of an operator\n  and = 1\n  ^"}};
  for (const auto& [text, message] : cases) {
    const auto condition = Condition::parse(text);
    ASSERT_FALSE(condition) << text;
    EXPECT_EQ(condition.error().detail, message);
  }
}

TEST(Condition, SizeAndDepthAreBounded) {
  EXPECT_FALSE(Condition::parse(std::string(101, '(') + "a = 1" + std::string(101, ')')));
  EXPECT_TRUE(Condition::parse(std::string(99, '(') + "a = 1" + std::string(99, ')')));
  std::string text = "a = 1";
  while (text.size() <= Condition::kMostText) text += " or a = 1";
  EXPECT_FALSE(Condition::parse(text));
  text.resize(text.size() - 9);
  EXPECT_TRUE(Condition::parse(text));
  std::string nots;
  for (int i = 0; i < 101; ++i) nots += "not ";
  EXPECT_FALSE(Condition::parse(nots + "a = 1"));
  std::string lengths;
  for (int i = 0; i < 12000; ++i) lengths += "len( ";
  EXPECT_FALSE(Condition::parse(lengths));
}

TEST(Condition, EnumIsComparedByItsNumberAndByItsName) {
  const auto is_true = [](const char* text, const EnumValue& value) {
    const auto condition = Condition::parse(text).value();
    ConditionEvaluation evaluation(*condition);
    evaluation.take(0, value);
    return evaluation.finish();
  };
  const EnumValue green{2, "GREEN"};
  for (const char* const text : {"c = 2", "c = 'GREEN'", "c in (1, 'GREEN')", "c in (2, 'RED')", "c ~ '^G'", "c > 1",
                                 "c != 3", "c not in (1, 'RED')", "len(c) = 5"}) {
    EXPECT_TRUE(is_true(text, green)) << text;
  }
  for (const char* const text : {"c = '2'", "c = 3", "c != 2", "c != 'GREEN'", "c not in (2, 'RED')", "c = true"}) {
    EXPECT_FALSE(is_true(text, green)) << text;
  }
  EXPECT_TRUE(is_true("c = 99 and c = '99'", {99, "99"}));
}

TEST(Condition, TermOfAnotherTypeIsSeen) {
  const auto condition = Condition::parse("x = 'a' or x = 1").value();
  ConditionEvaluation evaluation(*condition);
  evaluation.take(0, std::int64_t{2});
  EXPECT_TRUE(evaluation.seen()[0].other && !evaluation.seen()[0].comparable);
  EXPECT_TRUE(evaluation.seen()[1].comparable && !evaluation.seen()[1].other);
}

}  // namespace
}  // namespace recordfs
