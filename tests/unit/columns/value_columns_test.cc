#include "core/columns/value_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/columns/tables.h"

namespace recordfs {
namespace {

std::string outline(const std::vector<MessageField>& fields) {
  std::string text;
  for (const MessageField& field : fields) {
    text += (text.empty() ? "" : " ") + field.name + ":" + std::to_string(static_cast<int>(field.type));
    if (field.is_repeated) text += "*";
    if (!field.fields.empty()) text += "(" + outline(field.fields) + ")";
  }
  return text;
}

// Returns the columns of the texts, or the error.
std::string columns_of(const std::vector<std::string>& texts) {
  ValueColumns columns;
  for (const std::string& text : texts) {
    const auto record = json_record(as_bytes(text));
    if (!record) return record.error().detail;
    if (const auto added = columns.add(record->value); !added) return added.error().detail;
  }
  const auto fields = columns.finish();
  return fields ? outline(*fields) : fields.error().detail;
}

TEST(ValueColumns, TypesAreThoseOfTheValues) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{R"({"b":true,"i":-1,"d":0.5,"s":"x"})"}, "b:8 i:3 d:1 s:9"},
      {{R"({"a":null,"z":1})", R"({"a":"x"})"}, "a:9 z:3"},
      {{R"({"a":null,"l":[],"e":{},"i":null})", R"({"i":1,"l":null})"}, "a:9 l:9* i:3"},
      {{R"({"o":{"a":null},"p":{"a":[]}})", R"({"o":"x"})"}, "o:9 p:11(a:9*)"},
      {{R"({"u":1})", R"({"u":9223372036854775808})"}, "u:4"},
      {{R"({"d":1})", R"({"d":2.5})"}, "d:1"},
      {{R"({"l":[]})", R"({"l":[1,2]})"}, "l:3*"},
      {{R"({"o":{"x":1,"y":{"z":"t"}}})", R"({"o":{"w":[true]}})"}, "o:11(x:3 y:11(z:9) w:8*)"},
      {{R"({"l":[{"x":1},{"y":2}],"e":{},"n":{"m":null}})"}, "l:11*(x:3 y:3) n:11(m:9)"},
      {{R"({"a":1})", R"({"a":"x"})"}, "column a has values of different types"},
      {{R"({"a":1})", R"({"a":[1]})"}, "column a has values of different types"},
      {{R"({"o":{"a":9007199254740993}})", R"({"o":{"a":0.5}})"},
       "column o.a has fractions, and integers that are not exactly a double"},
      {{R"({"a":-1})", R"({"a":18446744073709551615})"}, "column a has negative integers, and integers above 2^63 - 1"},
      {{R"({"a":[[1]]})"},
       "column a has a list or a null in a list, which tables cannot have (try: JSON Lines, or only other columns)"},
      {{R"({"a":[1,null]})"},
       "column a has a list or a null in a list, which tables cannot have (try: JSON Lines, or only other columns)"},
      {{R"({"a":18446744073709551616})"}, "the number 18446744073709551616 is out of range"},
      {{R"({"a":1e999})"}, "the number 1e999 is out of range"},
      {{R"({"a":NaN,"b":[Infinity,-Infinity,1]})"}, "a:1 b:1*"},
      {{R"({"a":1.2.3})"}, "not a JSON object"},
      {{R"({"a":2.5e1-7})"}, "not a JSON object"},
      {{"{\"\xFF\xFE\":1.5}"}, "not a JSON object"},
      {{"[1]"}, "not a JSON object"},
      {{"{}"}, "the records have no values"}};
  for (const auto& [texts, expected] : cases) EXPECT_EQ(columns_of(texts), expected) << texts.front();
}

// Columns of {"i": int, "d": double, "l": [text], "o": {"u": uint64}}.
struct Sample {
  Sample() {
    const auto record =
        json_record(as_bytes(std::string_view(R"({"i":1,"d":0.5,"l":["x"],"o":{"u":18446744073709551615}})")));
    EXPECT_TRUE(record && columns.add(record->value));
    root = {.name = "decoded", .type = FieldType::kMessage, .has_presence = true, .fields = *columns.finish()};
  }
  Result<std::string> message_of(const std::string& text) const {
    const auto record = json_record(as_bytes(text));
    return record ? columns.message_of(record->value) : record.error();
  }
  std::string error_of(const std::string& text) const {
    const auto message = message_of(text);
    return message ? "" : message.error().detail;
  }

  ValueColumns columns;
  MessageField root;
};

TEST(ValueColumns, RecordsBecomeRows) {
  const Sample sample;
  const auto first = sample.message_of(R"({"d":-3,"i":-2,"l":["a","bc"],"o":{"u":9223372036854775808}})");
  const auto second = sample.message_of(R"({"o":{},"l":null,"other":null,"more":[]})");
  ASSERT_TRUE(first && second);
  const ArrowColumn rows = testing::batch_of(sample.root, {*first, *second});
  const auto word = [](const ArrowColumn& column) { return as_text(column.buffers[1].bytes.first(8)); };
  EXPECT_EQ(word(rows.children[0]), std::string_view("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8));
  EXPECT_EQ(word(rows.children[1]), std::string_view("\0\0\0\0\0\0\x08\xC0", 8));
  EXPECT_EQ(as_text(rows.children[2].children[0].buffers[2].bytes), "abc");
  EXPECT_EQ(word(rows.children[3].children[0]), std::string_view("\0\0\0\0\0\0\0\x80", 8));
  for (const std::size_t column : {0u, 1u}) EXPECT_EQ(rows.children[column].null_count, 1);
  EXPECT_EQ(rows.children[3].null_count, 0);
  EXPECT_EQ(rows.children[3].children[0].null_count, 1);
}

TEST(ValueColumns, PathsLeadToMembersWithoutValues) {
  for (const auto& [text, expected] : {std::pair(R"({"id":1,"m":{"x":1,"y":null}})", "m:11(y:9)"),
                                       std::pair(R"({"m":[{"x":1,"y":null},{"y":[]}]})", "m:11*(y:9*)"),
                                       std::pair(R"({"m":{"x":1}})", "no column m.y (the columns are m.x, m)")}) {
    ValueColumns columns(ColumnSelection::parse("m.y").value());
    const auto record = json_record(as_bytes(std::string_view(text)));
    ASSERT_TRUE(columns.add(record->value));
    const auto fields = columns.finish();
    EXPECT_EQ(fields ? outline(*fields) : fields.error().detail, expected) << text;
  }
}

TEST(ValueColumns, EmptyValuesOfAnotherTypeAreNull) {
  const Sample sample;
  for (const char* const text : {R"({"i":[]})", R"({"d":{}})", R"({"l":{}})", R"({"o":[],"i":{"a":null}})"}) {
    EXPECT_EQ(sample.message_of(text).value(), "") << text;
  }
}

TEST(ValueColumns, WordsOfPythonAreNumbers) {
  const Sample sample;
  for (const auto& [word, bits] : {std::pair("NaN", "\xF8\x7F"), {"Infinity", "\xF0\x7F"}, {"-Infinity", "\xF0\xFF"}}) {
    const auto message = sample.message_of(std::string("{\"d\":") + word + "}");
    EXPECT_EQ(message.value(), std::string("\x11\0\0\0\0\0\0", 7) + bits) << word;
  }
}

TEST(ValueColumns, ValuesWithoutAColumnAreErrors) {
  const Sample sample;
  EXPECT_EQ(sample.error_of(R"({"other":0})"),
            "column other does not occur in the first 1,024 records (try: --scan-columns)");
  EXPECT_EQ(sample.error_of(R"({"o":{"x":""}})"),
            "column o.x does not occur in the first 1,024 records (try: --scan-columns)");
  for (const char* const text :
       {R"({"i":0.5})", R"({"i":9223372036854775808})", R"({"i":[1]})", R"({"d":9007199254740993})", R"({"l":"x"})",
        R"({"l":[null]})", R"({"o":1})", R"({"o":{"u":-1}})", R"({"i":"1"})", R"({"i":true})"}) {
    EXPECT_TRUE(
        sample.error_of(text).ends_with(" has another type than in the first 1,024 records (try: --scan-columns)"))
        << text;
  }
  EXPECT_EQ(sample.error_of(R"({"i":1,"i":2})"), "column i occurs twice in a record");
}

TEST(ValueColumns, BytesAreColumnsAndMessagesAreNot) {
  ValueColumns columns;
  Value::Object object;
  add_member(object, "raw", as_bytes(std::string_view("\xFF")));
  const Value record{object};
  ASSERT_TRUE(columns.add(record));
  EXPECT_EQ(outline(*columns.finish()), "raw:12");
  EXPECT_EQ(*columns.message_of(record), "\x0A\x01\xFF");
  add_member(object, "", Message{"a.B", as_bytes(std::string_view("m"))});
  EXPECT_EQ(columns.add(Value{object}).error().code, Code::kUnsupported);
  const Value nested{Value::Object{{.name = "m", .value = Value{object}}}};
  EXPECT_TRUE(columns.add(nested).error().detail.starts_with("column m has messages of types of their own"));
}

}  // namespace
}  // namespace recordfs
