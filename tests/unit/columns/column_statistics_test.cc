#include "core/columns/column_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/protobuf.h"
#include "core/formats/tensorflow_example.h"

namespace recordfs {
namespace {

using Records = std::vector<std::string>;

RecordSchema schema_of_examples() {
  return {.value = [](Bytes record, ValueForm form) { return tensorflow::value_of_example(record, Limits(), form); },
          .type = tensorflow::type_of_example};
}

// Counts records of JSON or Examples. Returns how many could not be decoded.
std::size_t count(ColumnCounter& counter, const Records& records, const RecordSchema& schema = {}) {
  const RecordDecoder decoder(schema, nullptr);
  std::size_t undecoded = 0;
  for (const std::string& record : records) undecoded += counter.count({}, decoder, {}, as_bytes(record)) ? 0 : 1;
  return undecoded;
}
ColumnStatistics statistics_of(const Records& records) {
  ColumnCounter counter;
  EXPECT_EQ(count(counter, records), 0u);
  ColumnStatistics sum;
  sum.add(counter);
  return sum;
}

struct Shown {
  std::string operator()(const ColumnText& text) const {
    return text.is_cut() ? fmt::format("{}...{}", text.front, text.size) : text.front;
  }
  template <class Other>
  std::string operator()(const Other& is) const {
    return fmt::format("{}", is);
  }
};
std::string shown(const std::optional<ColumnValue>& value) { return value ? std::visit(Shown(), value->is) : "-"; }

// Returns "TYPE RECORDS VALUES MINIMUM MAXIMUM VALUE:COUNT..." of a column.
std::string shown(const ColumnSummary& column) {
  std::string text = fmt::format("{}{} {} {} {} {}", column.type(), column.is_list() ? "[]" : "", column.records(),
                                 column.values(), shown(column.minimum()), shown(column.maximum()));
  if (column.counts() == nullptr) return text + " many";
  for (const auto& [value, count] : *column.counts()) text += fmt::format(" {}:{}", shown(value), count);
  return text;
}
std::string shown(const ColumnStatistics& statistics) {
  std::string text = fmt::format("{}", statistics.records());
  for (const NamedColumn* const named : statistics.columns()) {
    text += fmt::format("\n{}: {}", named->first, shown(named->second));
  }
  return text;
}
std::string shown(const Records& records) { return shown(statistics_of(records)); }

TEST(ColumnStatistics, ColumnsHaveTheTypesAndBoundsOfTheirValues) {
  EXPECT_EQ(shown({R"({"a":1})", R"({"a":-2,"b":{"c":["x","y"]}})", R"({"a":null,"b":{}})", R"({"d":[]})"}),
            "4\na: int64 2 2 -2 1 -2:1 1:1\nb.c: str[] 1 2 x y x:1 y:1\nd: [] 0 0 - -");
}

TEST(ColumnStatistics, ObjectsAreColumnsIfNoneHasMembers) {
  EXPECT_EQ(shown({R"({"o":[{"n":"a"},{}]})", R"({"o":[],"e":{}})", R"({"o":null,"e":{},"":{"0":1},"0":2})"}),
            "3\n.0: int64 1 1 1 1 1:1\n0: int64 1 1 2 2 2:1\ne: bool 2 2 true true true:2\n"
            "o.n: str[] 1 1 a a a:1");
}

TEST(ColumnStatistics, RecordsWithObjectsWhereOthersHaveValuesCount) {
  Records records{R"({"a":{"b":1}})", R"({"a":","})", R"({"a":{}})", R"({"a":[1,{"b":2},2]})", R"({"a":[{"b":2},1]})"};
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(shown(records).starts_with("5\na: bool or int64 or str[] 5 5 - - ")) << shown(records);
    std::rotate(records.begin(), records.begin() + 1, records.end());
  }
  EXPECT_EQ(shown({R"({"a":{"b":1}})", R"({"a":null})"}), "2\na.b: int64 1 1 1 1 1:1");
}

TEST(ColumnStatistics, ElementsAreThoseOfTheOuterList) {
  const auto elements = [](const std::string& json) {
    const auto statistics = statistics_of({json});
    const auto& column = statistics.columns().front()->second;
    return fmt::format("{} {}", column.elements(), column.records());
  };
  EXPECT_EQ(elements(R"({"a":[[1,2],[3]]})"), "2 1");
  EXPECT_EQ(elements(R"({"a":[[],[[4,5]],null]})"), "3 1");
  EXPECT_EQ(elements(R"({"a":[null,1]})"), "2 1");
  EXPECT_EQ(elements(R"({"a":[null]})"), "0 0");
  EXPECT_EQ(elements(R"({"a":[{},{"b":1}]})"), "1 1") << "the column a.b";
  EXPECT_EQ(elements(R"({"a":[{},{}]})"), "2 1");
}

TEST(ColumnStatistics, NumbersAreComparedWithoutRounding) {
  EXPECT_EQ(shown({R"({"a":9223372036854775807})", R"({"a":9223372036854775808})"}),
            "2\na: uint64 2 2 9223372036854775807 9223372036854775808 9223372036854775807:1 9223372036854775808:1");
  EXPECT_EQ(shown({R"({"a":9223372036854775807})", R"({"a":9223372036854775808.0})"}),
            "2\na: int64 or float64 2 2 9223372036854775807 9.223372036854776e+18 9223372036854775807:1 "
            "9.223372036854776e+18:1");
  EXPECT_EQ(shown({R"({"a":[1,1.0,-0.0,0,NaN,NaN]})"}), "1\na: float64[] 1 6 0 1 0:2 1:2 nan:2");
  EXPECT_EQ(shown({R"({"a":NaN})"}), "1\na: float64 1 1 - - nan:1");
  EXPECT_EQ(shown({R"({"a":"1"})", R"({"a":1})", R"({"a":true})"}),
            "3\na: bool or int64 or str 3 3 - - true:1 1:1 1:1");
}

TEST(ColumnStatistics, LongTextsDifferByAHash) {
  const std::string front(200, 'x');
  EXPECT_EQ(shown({fmt::format(R"({{"a":["{0}1","{0}2","{0}1"]}})", front)}),
            fmt::format("1\na: str[] 1 3 {0}...201 {0}...201 {0}...201:2 {0}...201:1", front.substr(0, 128)));
}

std::string example_of(std::string_view name, std::string_view values) {
  std::string content, entry, features, example;
  protobuf::append_field(content, 3, values);
  protobuf::append_field(entry, 1, name);
  protobuf::append_field(entry, 2, content);
  protobuf::append_field(features, 1, entry);
  protobuf::append_field(example, 1, features);
  return example;
}

TEST(ColumnStatistics, RecordThatCannotBeDecodedCountsNothing) {
  const std::string good = example_of("a", "\x0A\x03\x01\x02\x03");
  const std::string cut = example_of("a", "\x0A\x03\x01\x02\xFF");
  ColumnCounter counter;
  EXPECT_EQ(count(counter, {good, cut, "text", good}, schema_of_examples()), 2u);
  ColumnStatistics sum;
  sum.add(counter);
  EXPECT_EQ(shown(sum), "2\na: int64[] 2 6 1 3 1:2 2:2 3:2");
}

TEST(ColumnStatistics, ObjectsOfRecordsThatDoNotCountAreNotCounted) {
  const std::string beyond = R"({"a":{"b":1},"c":1e999})";
  ColumnCounter counter;
  EXPECT_EQ(count(counter, {R"({"a":5})", beyond, R"({"a":{"b":1}} )", beyond, beyond, R"({"a":{"b":)"}), 4u);
  ColumnStatistics sum;
  sum.add(counter);
  EXPECT_EQ(shown(sum), "2\na: int64 2 1 5 5 5:1\na.b: int64 1 1 1 1 1:1");
}

TEST(ColumnStatistics, RecordsWithManyValuesAreCountedToo) {
  std::string numbers = "1";
  for (int i = 0; i < 20000; ++i) numbers += ",1";
  EXPECT_EQ(shown({R"({"a":[)" + numbers + "]}", R"({"a":[2]})"}), "2\na: int64[] 2 20002 1 2 1:20001 2:1");
}

TEST(ColumnStatistics, SumDoesNotDependOnHowRecordsWereDivided) {
  std::mt19937 random(7);
  const auto below = [&random](unsigned end) { return random() % end; };
  Records records;
  for (int i = 0; i < 3000; ++i) {
    std::string record = fmt::format(R"({{"few":{},"many":{},"edge":{})", below(9), i, i % 1000);
    if (below(2) == 0) record += fmt::format(R"(,"text{}":"{}")", below(600), below(3));
    records.push_back(record + (below(3) == 0 ? R"(,"more":["y",1.5,null]})" : "}"));
  }
  const std::string whole = shown(records);
  EXPECT_NE(whole.find("many: int64 3000 3000 0 2999 many"), std::string::npos);
  for (int round = 0; round < 5; ++round) {
    std::vector<ColumnCounter> counters(1 + below(20));
    for (const std::string& record : records) count(counters[below(static_cast<unsigned>(counters.size()))], {record});
    std::ranges::shuffle(counters, random);
    ColumnStatistics sum, rest;
    for (const ColumnCounter& counter : counters) (below(2) == 0 ? sum : rest).add(counter);
    sum.add(rest);
    EXPECT_EQ(shown(sum), whole);
  }
}

TEST(ColumnStatistics, ManyColumnsKeepFewerValuesEach) {
  Records records;
  for (int i = 0; i < 8; ++i) {
    std::string record;
    for (int name = 0; name < 8000; ++name) record += fmt::format("{}\"{}\":{}", name == 0 ? "{" : ",", name, i * 5);
    records.push_back(record + "}");
  }
  EXPECT_EQ(statistics_of(records).most_distinct(), 32u);
  EXPECT_NE(statistics_of(records).columns().front()->second.counts(), nullptr);
  EXPECT_EQ(ColumnCounter::most_distinct(1), 1000u);
}

TEST(ColumnStatistics, ExamplesHaveAsManyColumnsAsOtherRecords) {
  Records records;
  for (int i = 0; i < 8192; ++i) records.push_back(example_of(fmt::format("f{}", i), "\x0A\x01\x07"));
  ColumnCounter counter;
  EXPECT_EQ(count(counter, records, schema_of_examples()), 0u);
  EXPECT_FALSE(counter.has_too_many());
  EXPECT_EQ(counter.names().size(), 8192u);
}

TEST(ColumnStatistics, TooManyColumnsAreReported) {
  Records records;
  for (int i = 0; i < 9000; ++i) records.push_back(fmt::format(R"({{"{}":1}})", i));
  EXPECT_TRUE(statistics_of(records).has_too_many());
  EXPECT_TRUE(statistics_of({fmt::format(R"({{"{}":1}})", std::string(9u << 20, 'x'))}).has_too_many());
  std::reverse(records.begin(), records.end());
  records.resize(8000);
  EXPECT_FALSE(statistics_of(records).has_too_many());
}

}  // namespace
}  // namespace recordfs
