#include "core/decoding/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace recordfs {
namespace {

constexpr std::uint64_t kMuch = 1u << 20;

void write_example(JsonWriter& writer) {
  writer.begin_object();
  writer.name("list");
  writer.begin_list();
  writer.number(std::uint64_t{1});
  writer.begin_object();
  writer.end_object();
  writer.begin_list();
  writer.end_list();
  writer.string("a\"b");
  writer.end_list();
  writer.name("last");
  writer.literal("null");
  writer.end_object();
}

std::string list_written(JsonLayout layout, std::uint64_t most = kMuch) {
  std::string text;
  JsonWriter writer(text, layout, most);
  write_example(writer);
  return writer.is_full() ? "full" : text;
}

template <class Number>
std::string number(Number value) {
  std::string text;
  JsonWriter(text, JsonLayout::kLine, kMuch).number(value);
  return text;
}

// Returns an object whose members `write` writes, without its first member.
template <class Write>
std::string members(const Write& write, ByteForm form = ByteForm::kAuto) {
  std::string line = "{\"a\":1";
  auto json = JsonWriter::in_object(line, JsonWriter::kNoLimit, form);
  write(json, line);
  return line.starts_with("{\"a\":1,") ? line.substr(7) : line;
}

std::string path_written(std::string_view path) {
  return members([&](JsonWriter& json, std::string&) { json.path("file", path); });
}

TEST(JsonPath, BytesThatAreNoTextAreSurrogatesAndInASecondMember) {
  EXPECT_EQ(path_written("a/\"b\n.log"), R"("file":"a/\"b\n.log")");
  EXPECT_EQ(path_written("caf\xC3\xA9"), "\"file\":\"caf\xC3\xA9\"");
  EXPECT_EQ(path_written("caf\xE9.log"), R"("file":"caf\udce9.log","file_base64":"Y2Fm6S5sb2c=")");
  EXPECT_EQ(path_written("\xED\xB3\xA9"), R"("file":"\udced\udcb3\udca9","file_base64":"7bOp")");
  EXPECT_EQ(path_written(""), R"("file":"")");
  JsonObject object;
  object.set("name", JsonPath{"\xFF"});
  object.set("next", true);
  EXPECT_EQ(to_json(object, JsonLayout::kLine), "{\"name\":\"\\udcff\",\"name_base64\":\"/w==\",\"next\":true}\n");
}

TEST(JsonWriter, SingleLineOutputHasNoWhiteSpace) {
  EXPECT_EQ(list_written(JsonLayout::kLine), R"({"list":[1,{},[],"a\"b"],"last":null})");
}

TEST(JsonWriter, IndentedOutputHasTwoSpacesPerLevel) {
  EXPECT_EQ(list_written(JsonLayout::kIndented), R"({
  "list": [
    1,
    {},
    [],
    "a\"b"
  ],
  "last": null
})");
}

TEST(JsonWriter, MembersAreAppendedToAnOpenObject) {
  std::string line = R"({"ordinal":1)";
  auto writer = JsonWriter::in_object(line, kMuch);
  writer.name("a");
  writer.begin_object();
  writer.name("b");
  writer.number(std::int64_t{-5}, true);
  writer.end_object();
  writer.bytes("n", "n_base64", as_bytes("\xff"));
  writer.bytes("m", "m_base64", as_bytes("\xc3\xa9"));
  EXPECT_EQ(line, R"({"ordinal":1,"a":{"b":"-5"},"n_base64":"/w==","m":"é")");
}

TEST(JsonWriter, WritesNoMoreThanItsLimit) {
  for (const JsonLayout layout : {JsonLayout::kLine, JsonLayout::kIndented}) {
    const std::string whole = list_written(layout);
    for (std::uint64_t most = 0; most < whole.size(); ++most) {
      std::string text = "before";
      JsonWriter writer(text, layout, most);
      write_example(writer);
      EXPECT_TRUE(writer.is_full());
      EXPECT_LE(text.size(), 6 + most);
    }
  }
  EXPECT_EQ(list_written(JsonLayout::kLine, 80), list_written(JsonLayout::kLine));
}

TEST(JsonWriter, EscapesCountWithTheirWrittenSize) {
  const std::string controls(100, '\x01');  // six bytes each when escaped
  for (const std::uint64_t most : {std::uint64_t{300}, kMuch}) {
    std::string text;
    JsonWriter writer(text, JsonLayout::kLine, most);
    writer.string(controls);
    EXPECT_EQ(writer.is_full(), most == 300);
    EXPECT_EQ(text.size(), writer.is_full() ? 0u : 602u);
  }
}

TEST(JsonWriter, EachByteIsEscapedAtEachPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 20; ++at) {
      std::string value(20, '~');
      value[at] = static_cast<char>(byte);
      const bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
      std::string text;
      append_json_string(text, value);
      if (is_plain) {
        EXPECT_EQ(text, '"' + value + '"');
      } else {
        EXPECT_EQ(nlohmann::json::parse(text), value) << byte << " at " << at;
      }
    }
  }
}

TEST(JsonWriter, RunsOfEscapesOfAnyLengthAreComplete) {
  std::string value;
  std::string escaped = "\"";
  for (int i = 0; i < 2000; ++i) {
    value += i % 3 == 0 ? '\n' : '\x01';
    escaped += i % 3 == 0 ? "\\n" : "\\u0001";
    std::string text;
    append_json_string(text, value);
    ASSERT_EQ(text, escaped + '"');
  }
}

TEST(JsonWriter, CharactersThatControlATerminalAreEscaped) {
  for (std::size_t at = 0; at < 20; ++at) {
    const std::string before(at, 'a');
    const std::string value = before + "\x7F\xC2\x80\xC2\x9B\xC2\xA0\xC3\xA9z";
    std::string text;
    append_json_string(text, value);
    EXPECT_EQ(text, '"' + before + "\\u007f\\u0080\\u009b\xC2\xA0\xC3\xA9z\"");
    EXPECT_EQ(json_string_size(value), text.size());
    EXPECT_EQ(nlohmann::json::parse(text), value);
  }
}

TEST(JsonWriter, NumbersRoundTrip) {
  EXPECT_EQ(number(std::uint64_t{UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(number(std::int64_t{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(number(0.1f), "0.1");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(3.0), "3");
  for (const double value : {1e300, 5e-324, -0.0, 1.0 / 3, 1e20, 123456789012345680.0}) {
    EXPECT_EQ(nlohmann::json::parse(number(value)).get<double>(), value) << number(value);
  }
}

TEST(JsonWriter, InfinityAndNanAreStrings) {
  EXPECT_EQ(number(std::nan("")), "\"NaN\"");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(number(-std::numeric_limits<float>::infinity()), "\"-Infinity\"");
}

TEST(JsonWriter, TypedTextKeepsBytesAndNumbersApart) {
  std::string text;
  JsonWriter json(text, JsonLayout::kTyped, 1000);
  json.begin_object();
  json.bytes("a", "a_base64", as_bytes("hello"));
  json.name("b");
  json.encoded(as_bytes("\xFF"));
  json.name("c");
  json.number(std::uint64_t{18446744073709551615u}, true);
  json.name("d");
  json.number(std::numeric_limits<double>::infinity());
  json.name("e");
  json.begin_list();
  json.number(-0.0);
  json.number(3.0F);
  json.number(1e30);
  json.end_list();
  json.end_object();
  EXPECT_EQ(text,
            R"({"a":"\ud800aGVsbG8=","b":"\ud800/w==","c":18446744073709551615,"d":Infinity,"e":[-0.0,3.0,1e+30]})");
}

TEST(JsonWriter, MembersAreTextsNumbersTruthAndNull) {
  EXPECT_EQ(members([](JsonWriter& json, std::string&) {
              json.member("text", "a\n");
              json.member("number", std::uint64_t{7});
              json.member("none", std::optional<std::uint64_t>());
              json.member("some", std::optional<std::uint64_t>(8));
              json.member("flag", true);
            }),
            R"("text":"a\n","number":7,"none":null,"some":8,"flag":true)");
}

TEST(JsonBytes, FormDecidesNameAndDigits) {
  const auto member = [](ByteForm form, std::string_view bytes) {
    return members([&](JsonWriter& json, std::string&) { json.bytes("value", "value_base64", as_bytes(bytes)); }, form);
  };
  EXPECT_EQ(member(ByteForm::kAuto, "a\n"), R"("value":"a\n")");
  EXPECT_EQ(member(ByteForm::kAuto, "\xFF"), R"("value_base64":"/w==")");
  EXPECT_EQ(member(ByteForm::kBase64, "a\n"), R"("value_base64":"YQo=")");
  EXPECT_EQ(member(ByteForm::kHex, "a\n\xFF"), R"("value_hex":"610aff")");
  EXPECT_EQ(member(ByteForm::kHex, ""), R"("value_hex":"")");
}

TEST(JsonBytes, PiecesOfALargeValueAreTheWholeText) {
  std::string cut_off = "x";
  for (int i = 0; i < 500000; ++i) cut_off += i % 1000 == 0 ? "\n\"" : "\xE2\x82\xAC";
  const std::string texts[] = {"", "short", cut_off, cut_off.substr(1), cut_off + '\xFF', std::string(3000000, '\0')};
  for (const std::string& text : texts) {
    for (const ByteForm form : {ByteForm::kAuto, ByteForm::kBase64, ByteForm::kHex}) {
      const auto write_after = [&](JsonWriter& json) { json.member("next", true); };
      const std::string whole = members(
          [&](JsonWriter& json, std::string&) {
            json.bytes("text", "base64", as_bytes(text));
            write_after(json);
          },
          form);
      std::string pieces;
      const std::string rest = members(
          [&](JsonWriter& json, std::string& line) {
            write_json_bytes(json, line, "text", "base64", as_bytes(text), form, [&pieces](std::string_view piece) {
              EXPECT_LE(piece.size(), std::size_t{6} << 20);
              pieces += piece;
            });
            write_after(json);
          },
          form);
      EXPECT_TRUE(pieces + rest == "{\"a\":1," + whole) << text.size() << " bytes";
    }
  }
}

}  // namespace
}  // namespace recordfs
