#include "core/columns/scalar_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/protobuf.h"
#include "tests/unit/columns/tables.h"

namespace recordfs {
namespace {

std::string part(std::uint32_t number, std::string_view content) {
  std::string out;
  protobuf::append_field(out, number, content);
  return out;
}
std::string number(std::uint32_t field, std::uint64_t value) {
  std::string out;
  protobuf::append_varint(out, std::uint64_t{field} << 3);
  protobuf::append_varint(out, value);
  return out;
}
template <class Bits>
std::string fixed(std::uint32_t field, Bits bits) {
  std::string out(1, static_cast<char>(field << 3 | (sizeof bits == 8 ? 1 : 5)));
  append_le(out, bits);
  return out;
}
std::string f64(std::uint32_t field, double value) { return fixed(field, std::bit_cast<std::uint64_t>(value)); }
std::string f32(std::uint32_t field, float value) { return fixed(field, std::bit_cast<std::uint32_t>(value)); }

// Returns "STEP TIME TAG VALUE" of each scalar, or why it is left out, and the error.
std::vector<std::string> scalars_of(ScalarSource source, const std::string& record) {
  std::vector<std::string> rows;
  const auto take = [&](const ScalarRow& scalar) {
    rows.push_back(fmt::format("{} {} {} {}", scalar.step ? std::to_string(*scalar.step) : "null",
                               scalar.wall_time ? fmt::format("{}", *scalar.wall_time) : "null", scalar.tag,
                               scalar.value));
    return Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    std::string value;
    if (scalar.exact) std::visit([&](auto number) { value = fmt::format(" ({})", number); }, *scalar.exact);
    rows.push_back("without: " + scalar.unfit->detail + value);
  };
  const auto skip = [&](const ScalarRow& scalar) { rows.push_back("no scalar: " + scalar.tag); };
  const auto read = each_scalar(source, as_bytes(record), {.take = take, .leave_out = leave_out, .skip = skip});
  if (!read) rows.push_back(std::string(to_string(read.error().code)));
  return rows;
}

using Rows = std::vector<std::string>;

std::string event_of(const std::vector<std::string>& values) {
  std::string summary;
  for (const std::string& value : values) summary += part(1, value);
  return f64(1, 1.5) + number(2, 7) + part(5, summary);
}
Rows events(const std::vector<std::string>& values) { return scalars_of(ScalarSource::kEvents, event_of(values)); }

TEST(Scalars, SimpleValuesOfEvents) {
  EXPECT_EQ(events({part(1, "loss") + f32(2, 0.5F), part(1, "image") + part(4, ""), part(1, "zero") + f32(2, 0)}),
            (Rows{"7 1.5 loss 0.5", "7 1.5 zero 0"}));
  EXPECT_EQ(scalars_of(ScalarSource::kEvents, part(3, "brain.Event:2")), Rows{});
  EXPECT_EQ(scalars_of(ScalarSource::kEvents, part(5, part(1, part(1, "a") + f32(2, 1)))), Rows{"0 0 a 1"});
  EXPECT_EQ(events({part(1, "a") + f32(2, 1) + part(4, "")}), Rows{}) << "the image replaces the value";
}

TEST(Scalars, TensorsWithoutDimensions) {
  const auto tensor = [](std::uint64_t type, const std::string& rest) {
    return events({part(1, "t") + part(8, number(1, type) + rest)});
  };
  const std::string half("\x00\xC1", 2);
  const std::vector<std::pair<Rows, std::string>> cases{
      {tensor(1, part(5, f32(0, 2.5F).substr(1))), "2.5"},
      {tensor(1, f32(5, 2.5F)), "2.5"},
      {tensor(1, part(4, f32(0, -1).substr(1)) + part(2, "")), "-1"},
      {tensor(2, part(6, f64(0, 0.1).substr(1))), "0.1"},
      {tensor(3, number(7, static_cast<std::uint64_t>(-3))), "-3"},
      {tensor(4, part(4, "\xFF")), "255"},
      {tensor(6, part(4, "\xFF")), "-1"},
      {tensor(9, part(10, number(0, 1u << 31).substr(1))), "2147483648"},
      {tensor(10, number(11, 1)), "1"},
      {tensor(14, part(4, half)), "-8"},
      {tensor(19, part(4, half)), "-2.5"},
      {tensor(1, ""), "0"}};
  for (const auto& [rows, value] : cases) EXPECT_EQ(rows, Rows{"7 1.5 t " + value});
  const std::string one = part(2, part(2, number(1, 1)) + part(2, number(1, 1))) + f32(5, 2.5F);
  EXPECT_EQ(tensor(1, one), Rows{"7 1.5 t 2.5"}) << "two dimensions of one element";
  const auto of_plugin = [&](std::string_view plugin, const std::string& rest) {
    return events({part(1, "t") + part(8, number(1, 1) + rest) + part(9, part(1, part(1, plugin)))});
  };
  EXPECT_EQ(of_plugin("scalars", one), Rows{"7 1.5 t 2.5"});
  EXPECT_EQ(of_plugin("histograms", one), Rows{});
  EXPECT_EQ(of_plugin("histograms", f32(5, 2.5F)), Rows{"7 1.5 t 2.5"});
  const std::string two = part(2, part(2, number(1, 2))) + part(5, f32(0, 1).substr(1) + f32(0, 2).substr(1));
  EXPECT_EQ(tensor(1, two), Rows{"no scalar: t"});
  EXPECT_EQ(of_plugin("scalars", part(2, part(2, ""))), Rows{"no scalar: t"}) << "no element";
  EXPECT_EQ(of_plugin("histograms", two), Rows{});
  EXPECT_EQ(tensor(1, part(2, number(3, 1))), Rows{"no scalar: t"}) << "an unknown rank";
  EXPECT_EQ(tensor(7, part(8, "text")), Rows{});
  EXPECT_EQ(tensor(1, part(4, "123")), Rows{"without: the tensor of t has a wrong size"});
}

TEST(Scalars, ScalarThatIsNoRowIsLeftOutAlone) {
  const std::string inexact = part(8, number(1, 9) + number(10, (std::uint64_t{1} << 53) + 1));
  EXPECT_EQ(events({part(1, "a") + inexact, part(1, "b") + f32(2, 1), part(1, "\xFF") + f32(2, 1)}),
            (Rows{"without: a value of a is not exactly a double (9007199254740993)", "7 1.5 b 1",
                  "without: a tag is not UTF-8"}));
  const auto item = [](std::string_view key, std::string_view json) { return part(1, part(1, key) + part(16, json)); };
  EXPECT_EQ(
      scalars_of(ScalarSource::kHistory, part(2, item("a", "1e999") + item("b", "{") + item("c", "1"))),
      (Rows{"without: a value of a is not exactly a double", "without: the value of b is not JSON", "null null c 1"}));
}

TEST(Scalars, ScalarsOfSwanLab) {
  const auto scalar = [](const std::string& content) { return scalars_of(ScalarSource::kSwanLab, part(13, content)); };
  const std::string time = part(4, number(1, 2) + number(2, 500000000));
  EXPECT_EQ(scalar(part(1, "loss") + number(2, 3) + number(3, 1) + time + part(5, f64(1, 0.5))),
            Rows{"3 2.5 loss 0.5"});
  EXPECT_EQ(scalar(part(1, "loss") + part(5, "")), Rows{"0 null loss 0"});
  EXPECT_EQ(scalar(part(1, "loss")), Rows{});
  EXPECT_EQ(scalars_of(ScalarSource::kSwanLab, part(14, part(1, "image"))), Rows{});
}

TEST(Scalars, HistoryOfRuns) {
  const auto item = [](std::string_view key, std::string_view json) { return part(1, part(1, key) + part(16, json)); };
  const auto history = [](const std::string& content) { return scalars_of(ScalarSource::kHistory, part(2, content)); };
  EXPECT_EQ(
      history(item("loss", "0.5") + item("_timestamp", "9.5") + item("_runtime", "3") + part(2, number(1, 4)) +
              item("image", R"({"_type":"image-file","size":3})") + item("eval", R"({"a":{"b":2},"c":"x"})") +
              item("ok", "true") + item("no", "false") + item("text", "\"true\"") + item("nan", "NaN") +
              item("list", "[1]") + item("inf", "\"-Infinity\"")),
      (Rows{"4 9.5 loss 0.5", "4 9.5 eval.a.b 2", "4 9.5 ok 1", "4 9.5 no 0", "4 9.5 nan nan", "4 9.5 inf -inf"}));
  EXPECT_EQ(history(item("_step", "8") + part(1, part(2, "a") + part(2, "b") + part(16, "1"))), Rows{"8 null a.b 1"});
  EXPECT_EQ(history(item("loss", "1") + part(2, "")), Rows{"0 null loss 1"});
  EXPECT_EQ(history(item("loss", "9007199254740994")), Rows{"null null loss 9007199254740994"});
  for (const char* const json :
       {"9007199254740993", "-9007199254740993", "18446744073709551615", "18446744073709551616"}) {
    const std::string exact = std::string_view(json).ends_with("616") ? "" : fmt::format(" ({})", json);
    EXPECT_EQ(history(item("loss", json)), Rows{"without: a value of loss is not exactly a double" + exact});
  }
  for (const char* const json : {"{", "1.2.3", "-"}) {
    EXPECT_EQ(history(item("loss", json)), Rows{"without: the value of loss is not JSON"}) << json;
    EXPECT_EQ(history(item("_step", json)), Rows{std::string(to_string(Code::kDamage))}) << json;
  }
  EXPECT_EQ(scalars_of(ScalarSource::kHistory, part(17, part(1, "id"))), Rows{});
  EXPECT_EQ(scalars_of(ScalarSource::kHistory, "\xFF"), Rows{std::string(to_string(Code::kDamage))});
}

TEST(Scalars, RowsHaveTheColumns) {
  const MessageField root = scalar_columns();
  const ArrowColumn rows = testing::batch_of(
      root, {scalar_message("r", {.step = 3, .wall_time = 1.5, .tag = "t", .value = -0.0}), scalar_message("r", {})});
  ASSERT_EQ(rows.children.size(), 5u);
  EXPECT_EQ(rows.children[1].null_count, 1);
  EXPECT_EQ(rows.children[2].null_count, 1);
  EXPECT_EQ(as_text(rows.children[0].buffers[2].bytes), "rr");
  EXPECT_EQ(rows.children[4].buffers[1].bytes.size(), 16u);
  double first = 1;
  std::memcpy(&first, rows.children[4].buffers[1].bytes.data(), sizeof(first));
  EXPECT_TRUE(first == 0 && std::signbit(first));
}

TEST(Scalars, RunIsNamedAfterTheFile) {
  const auto events = [](std::string_view path) { return run_of(ScalarSource::kEvents, path); };
  EXPECT_EQ(events("events.out.tfevents.1"), ".");
  EXPECT_EQ(events("log/train/events.out.tfevents.1"), "log/train");
  EXPECT_EQ(events("/events.out.tfevents.1"), "/");
  EXPECT_EQ(run_of(ScalarSource::kHistory, "a/run-abc123.wandb"), "abc123");
  EXPECT_EQ(run_of(ScalarSource::kSwanLab, "run-abc123.swanlab"), "abc123");
  EXPECT_EQ(run_of(ScalarSource::kHistory, "other"), "other");
}

TEST(Scalars, OnlyEventsAndRunsHaveThem) {
  EXPECT_EQ(scalar_source("tensorflow.Event"), ScalarSource::kEvents);
  EXPECT_EQ(scalar_source("wandb_internal.Record"), ScalarSource::kHistory);
  EXPECT_EQ(scalar_source("tensorflow.Example"), std::nullopt);
}

}  // namespace
}  // namespace recordfs
