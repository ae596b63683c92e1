#include "core/columns/value_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/export/csv.h"
#include "tests/unit/columns/tables.h"

namespace recordfs {
namespace {

std::string outline(const std::vector<MessageField>& fields) {
  std::string text;
  for (const MessageField& field : fields) {
    text += (text.empty() ? "" : " ") + field.name + ":" + std::to_string(static_cast<int>(field.type));
    if (field.is_repeated) text += std::string(field.inner_lists + 1u, '*');
    if (!field.fields.empty()) text += "(" + outline(field.fields) + ")";
  }
  return text;
}

// Returns the columns of the texts, or the error.
std::string columns_of(const std::vector<std::string>& texts) {
  ValueColumns columns;
  for (const std::string& text : texts) {
    const auto record = json_record(as_bytes(text));
    if (!record || !*record) return record ? "no object" : record.error().detail;
    if (const auto added = columns.add((*record)->value); !added) return added.error().detail;
  }
  const auto fields = columns.finish();
  return fields ? outline(*fields) : fields.error().detail;
}

// Returns rows as JSON Lines.
std::string rows_in(const MessageField& root, ArrowColumn rows) {
  testing::StringSink sink;
  const auto writer = open_json_lines(sink, arrow_field_of(root), {});
  const auto encoded = (*writer)->encode(std::vector{std::move(rows)});
  EXPECT_TRUE(encoded && (*writer)->append(**encoded));
  return sink.text;
}

TEST(ValueColumns, TypesAreThoseOfTheValues) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{R"({"b":true,"i":-1,"d":0.5,"s":"x"})"}, "b:8 i:3 d:1 s:9"},
      {{R"({"a":null,"z":1})", R"({"a":"x"})"}, "a:9 z:3"},
      {{R"({"a":null,"l":[],"e":{},"i":null})", R"({"i":1,"l":null})"}, "a:9 l:9* e:11 i:3"},
      {{R"({"o":{"a":null},"p":{"a":[]}})", R"({"o":"x"})"}, "o:9 p:11(a:9*)"},
      {{R"({"u":1})", R"({"u":9223372036854775808})"}, "u:4"},
      {{R"({"d":1})", R"({"d":2.5})"}, "d:1"},
      {{R"({"d":[9223372036854775808,-1,1.5]})"}, "d:1*"},
      {{R"({"l":[]})", R"({"l":[1,2]})"}, "l:3*"},
      {{R"({"o":{"x":1,"y":{"z":"t"}}})", R"({"o":{"w":[true]}})"}, "o:11(x:3 y:11(z:9) w:8*)"},
      {{R"({"l":[{"x":1},{"y":2}],"e":{},"n":{"m":null}})"}, "l:11*(x:3 y:3) e:11 n:11(m:9)"},
      {{R"({"e":null,"l":[{}]})", R"({"e":{}})"}, "e:11 l:11*"},
      {{R"({"a":[[1],[]],"b":[[]],"c":[null],"d":[]})", R"({"b":[[[0.5]]],"d":[[["x"]]]})"},
       "a:3** b:1*** c:9* d:9***"},
      {{R"({"a":[[{"x":[1]}],[{"y":2}]]})"}, "a:11**(x:3* y:3)"},
      {{R"({"a":[[1],2]})"}, "column a has values of different types"},
      {{R"({"a":[[]]})", R"({"a":[1]})"}, "column a has values of different types"},
      {{R"({"a":[null]})", R"({"a":1})"}, "column a has values of different types"},
      {{R"({"a":[[[[[[[[1]]]]]]]]})"}, "a:3********"},
      {{R"({"a":[[[[[[[[[1]]]]]]]]]})"},
       "column a has more than 8 lists in each other (try: JSON Lines, or only other columns)"},
      {{R"({"a":1})", R"({"a":"x"})"}, "column a has values of different types"},
      {{R"({"a":1})", R"({"a":[1]})"}, "column a has values of different types"},
      {{R"({"o":{"a":9007199254740993}})", R"({"o":{"a":0.5}})"},
       "column o.a has fractions, and integers that are not exactly a double"},
      {{R"({"a":-1})", R"({"a":18446744073709551615})"}, "column a has negative integers, and integers above 2^63 - 1"},
      {{R"({"a":18446744073709551616})"}, "the number 18446744073709551616 is out of range"},
      {{R"({"a":1e999})"}, "the number 1e999 is out of range"},
      {{R"({"a":NaN,"b":[Infinity,-Infinity,1]})"}, "a:1 b:1*"},
      {{R"({"a":1.2.3})"}, "no object"},
      {{R"({"a":2.5e1-7})"}, "no object"},
      {{"{\"\xFF\xFE\":1.5}"}, "no object"},
      {{"[1]"}, "no object"},
      {{"{}"}, "the records have no values"}};
  for (const auto& [texts, expected] : cases) EXPECT_EQ(columns_of(texts), expected) << texts.front();
}

// Columns of {"i": int, "d": double, "l": [text], "o": {"u": uint64}, "b": [[int]], "e": {}}.
struct Sample {
  Sample() {
    const auto record = json_record(
        as_bytes(std::string_view(R"({"i":1,"d":0.5,"l":["x"],"o":{"u":18446744073709551615},"b":[[1]],"e":{}})")));
    EXPECT_TRUE(record && columns.add((*record)->value));
    root = {.name = "decoded", .type = FieldType::kMessage, .has_presence = true, .fields = *columns.finish()};
  }
  // Returns the rows as JSON Lines, or the error of the first record that is no row.
  std::string rows_of(const std::vector<std::string>& texts) const {
    ColumnBudget budget(1u << 20);
    ColumnBuilder builder(root, budget);
    for (const std::string& text : texts) {
      const auto record = json_record(as_bytes(text));
      if (!record || !*record) return record ? "no object" : record.error().detail;
      if (const auto added = columns.append(builder, (*record)->value); !added) return added.error().detail;
    }
    return rows_in(root, builder.finish());
  }

  ValueColumns columns;
  MessageField root;
};

TEST(ValueColumns, RecordsBecomeRows) {
  const Sample sample;
  EXPECT_EQ(sample.rows_of({R"({"d":-3,"i":-2,"l":["a","bc",null],"o":{"u":9223372036854775808}})",
                            R"({"o":{},"l":null,"other":null,"more":[]})",
                            R"({"l":[],"b":[[1,null,2],[],null,[3]],"d":9223372036854775808,"e":{"x":[]}})"}),
            R"({"i":-2,"d":-3,"l":["a","bc",null],"o":{"u":9223372036854775808}})"
            "\n"
            R"({"o":{"u":null}})"
            "\n"
            R"({"d":9223372036854775808,"l":[],"b":[[1,null,2],[],null,[3]],"e":true})"
            "\n");
}

TEST(ValueColumns, PathsLeadToMembersWithoutValues) {
  for (const auto& [text, expected] : {std::pair(R"({"id":1,"m":{"x":1,"y":null}})", "m:11(y:9)"),
                                       std::pair(R"({"m":[{"x":1,"y":null},{"y":[]}]})", "m:11*(y:9*)"),
                                       std::pair(R"({"m":{"x":1}})", "no column m.y (the columns are m, m.x)")}) {
    ValueColumns columns(ColumnSelection::parse("m.y").value());
    const auto record = json_record(as_bytes(std::string_view(text)));
    ASSERT_TRUE(columns.add((*record)->value));
    const auto fields = columns.finish();
    EXPECT_EQ(fields ? outline(*fields) : fields.error().detail, expected) << text;
  }
}

TEST(ValueColumns, EmptyValuesOfAnotherTypeAreNull) {
  const Sample sample;
  for (const char* const text : {R"({"i":[]})", R"({"d":{}})", R"({"l":{}})", R"({"o":[],"i":{"a":null}})"}) {
    EXPECT_EQ(sample.rows_of({text}), "{}\n") << text;
  }
}

TEST(ValueColumns, WordsOfPythonAreNumbers) {
  const Sample sample;
  for (const char* const word : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(sample.rows_of({std::string("{\"d\":") + word + "}"}), std::string("{\"d\":\"") + word + "\"}\n");
  }
}

TEST(ValueColumns, ValuesWithoutAColumnAreErrors) {
  const Sample sample;
  EXPECT_EQ(sample.rows_of({R"({"other":0})"}),
            "column other does not occur in the first 1,024 records (try: --scan-columns)");
  EXPECT_EQ(sample.rows_of({R"({"o":{"x":""}})"}),
            "column o.x does not occur in the first 1,024 records (try: --scan-columns)");
  for (const char* const text : {R"({"i":0.5})", R"({"i":9223372036854775808})", R"({"i":[1]})",
                                 R"({"d":9007199254740993})", R"({"l":"x"})", R"({"l":[["x"]]})", R"({"b":[1]})",
                                 R"({"e":1})", R"({"o":1})", R"({"o":{"u":-1}})", R"({"i":"1"})", R"({"i":true})"}) {
    EXPECT_TRUE(
        sample.rows_of({text}).ends_with(" has another type than in the first 1,024 records (try: --scan-columns)"))
        << text;
  }
}

TEST(ValueColumns, LastOfSeveralMembersWithOneNameCounts) {
  const Sample sample;
  EXPECT_EQ(sample.rows_of({R"({"i":1,"b":true,"i":2})"}), sample.rows_of({R"({"i":2,"b":true})"}));
}

TEST(ValueColumns, BytesAreColumnsAndMessagesAreNot) {
  ValueColumns columns;
  Value::Object object;
  add_member(object, "raw", as_bytes(std::string_view("\xFF")));
  const Value record{object};
  ASSERT_TRUE(columns.add(record));
  EXPECT_EQ(outline(*columns.finish()), "raw:12");
  const MessageField root{.name = "decoded", .type = FieldType::kMessage, .fields = *columns.finish()};
  ColumnBudget budget(1u << 20);
  ColumnBuilder builder(root, budget);
  ASSERT_TRUE(columns.append(builder, record));
  EXPECT_EQ(rows_in(root, builder.finish()), "{\"raw\":\"/w==\"}\n");
  add_member(object, "", Message{"a.B", as_bytes(std::string_view("m"))});
  EXPECT_EQ(columns.add(Value{object}).error().code, Code::kUnsupported);
  const Value nested{Value::Object{{.name = "m", .value = Value{object}}}};
  EXPECT_TRUE(columns.add(nested).error().detail.starts_with("column m has messages of types of their own"));
}

}  // namespace
}  // namespace recordfs
