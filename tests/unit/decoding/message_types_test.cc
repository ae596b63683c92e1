// Decoding of messages, through the module as the program loads it.
#include "core/decoding/message_types.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/decoding/protobuf_module.h"
#include "tests/unit/decoding/schema.h"

namespace recordfs {
namespace {

using testing::Schema;

struct Written {
  bool is_good = false;
  std::string text{};
  std::string why{};
};

Written write(const MessageTypes& types, std::string_view type, std::string_view message,
              std::uint64_t most_text = 1u << 20) {
  Written written;
  JsonWriter writer(written.text, JsonLayout::kLine, most_text);
  written.is_good = types.write(type, as_bytes(message), writer, written.why);
  return written;
}

std::shared_ptr<const MessageTypes> types_of(const std::shared_ptr<const std::string>& descriptors) {
  auto types = shared_types(descriptors);
  if (!types) throw std::runtime_error(types.error().detail);
  return *types;
}

// Returns the JSON of a message of type "M".
std::string json_of(const std::string& schema_text, const std::string& message_text) {
  Schema schema(schema_text);
  const Written written = write(*types_of(schema.descriptors()), "M", schema.message("M", message_text));
  return written.is_good ? written.text : "no: " + written.why;
}

constexpr const char* kNumbers = R"(
  syntax = "proto3";
  enum E { ZERO = 0; ONE = 1; }
  message M {
    int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6; fixed32 f32 = 7;
    fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10; float f = 11; double d = 12; bool b = 13; string s = 14;
    bytes by = 15; E e = 16; M m = 17; repeated int32 many = 18; optional int32 maybe = 19; repeated M all = 20;
    oneof choice { string this_one = 21; int32 that_one = 22; }
    map<string, int32> by_name = 23; map<int32, M> by_number = 24; map<bool, string> by_bool = 25;
  })";

TEST(MessageTypes, NumbersAreWrittenAsInProtobufJson) {
  EXPECT_EQ(
      json_of(kNumbers, "i32: -1 i64: -2 u32: 4294967295 u64: 18446744073709551615 s32: -3 s64: 4 f32: 5 f64: 6"),
      R"({"i32":-1,"i64":"-2","u32":4294967295,"u64":"18446744073709551615","s32":-3,"s64":"4","f32":5,"f64":"6"})");
  EXPECT_EQ(json_of(kNumbers, "sf32: -7 sf64: -8 f: 0.1 d: 0.1 b: true e: ONE"),
            R"({"sf32":-7,"sf64":"-8","f":0.1,"d":0.1,"b":true,"e":"ONE"})");
  EXPECT_EQ(json_of(kNumbers, "f: nan d: -inf e: 7"), R"({"f":"NaN","d":"-Infinity","e":7})");
}

TEST(MessageTypes, TextIsTextAndBytesAreBase64) {
  EXPECT_EQ(json_of(kNumbers, R"(s: "a\"\n\303\251" by: "\377\376")"), R"({"s":"a\"\né","by":"//4="})");
}

TEST(MessageTypes, AbsentFieldsAreOmitted) {
  EXPECT_EQ(json_of(kNumbers, ""), "{}");
  EXPECT_EQ(json_of(kNumbers, "i32: 0 maybe: 0 m {} many: 0 all {} that_one: 0"),
            R"({"m":{},"many":[0],"maybe":0,"all":[{}],"that_one":0})");
}

// Returns the scalars that fields of such a message have, each as field=value.
class Scalars final : public ScalarSink {
 public:
  void take(std::size_t field, const Scalar& value) override {
    text += std::to_string(field) + '=' + std::visit(*this, value) + ' ';
  }
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::string_view value) const { return '\'' + std::string(value) + '\''; }
  std::string operator()(Bytes value) const { return std::to_string(value.size()) + " bytes"; }
  std::string operator()(const EnumValue& value) const {
    return std::to_string(value.number) + " '" + std::string(value.text) + '\'';
  }
  template <class Number>
  std::string operator()(Number value) const {
    return std::to_string(value);
  }

  std::string text{};
};

std::string scalars_of(const std::string& message_text, const std::vector<std::string>& paths) {
  Schema schema(kNumbers);
  const FieldPaths fields(paths);
  Scalars scalars;
  JsonFilter filter(fields, scalars);
  std::string nothing;
  std::string why;
  JsonWriter writer(nothing, JsonLayout::kLine, 0, ByteForm::kAuto, &filter);
  EXPECT_TRUE(types_of(schema.descriptors())->write("M", as_bytes(schema.message("M", message_text)), writer, why));
  EXPECT_EQ(nothing, "");
  return scalars.text;
}

TEST(MessageTypes, ScalarsOfFieldsGoToASink) {
  EXPECT_EQ(scalars_of("i64: -1 u64: 18446744073709551615 s: 'x' by: '\377\376' b: true many: [1, 2]",
                       {"i64", "u64", "s", "by", "b", "many"}),
            "0=-1 1=18446744073709551615 4=true 2='x' 3=2 bytes 5=1 5=2 ");
  EXPECT_EQ(scalars_of("m { i32: 3 m { s: 'y' } } by_name { key: 'k' value: 9 }", {"m.i32", "m.m.s", "by_name.k"}),
            "0=3 1='y' 2=9 ");
}

TEST(MessageTypes, AbsentFieldWithoutPresenceHasItsDefaultInASink) {
  EXPECT_EQ(scalars_of("", {"i32", "d", "b", "s", "by", "e", "m", "m.i32", "many", "maybe", "this_one"}),
            "0=0 1=0.000000 2=false 3='' 4=0 bytes 5=0 'ZERO' ");
  EXPECT_EQ(scalars_of("e: 7", {"e"}), "0=7 '7' ");
  EXPECT_EQ(scalars_of("m { i32: 1 } all {} all { i32: 2 }", {"m.s", "all.i32", "maybe"}), "0='' 1=0 1=2 ");
}

TEST(MessageTypes, MapIsAListOfKeysAndValuesInASinkAndHasItsKeysAsNames) {
  const std::string entries =
      "by_name { key: 'k' value: 9 } by_name { key: 'key' value: 8 } by_number { key: 3 value { i32: 4 } }";
  EXPECT_EQ(scalars_of(entries, {"by_name", "by_name.key", "by_name.value", "by_name.k"}),
            "0='k' 1='k' 0=9 2=9 0='key' 1='key' 0=8 2=8 3=9 ");
  EXPECT_EQ(
      scalars_of(entries, {"by_number.value.i32", "by_number.3.i32", "by_number.3", "by_number.key"}).substr(0, 12),
      "3=3 0=4 1=4 ");
}

TEST(MessageTypes, MapsAreSortedByKey) {
  EXPECT_EQ(
      json_of(kNumbers, R"(by_name { key: "b" value: 1 } by_name { key: "a" value: 2 } by_name { key: "b" value: 3 }
                                 by_number { key: 10 value { i32: 1 } } by_number { key: -2 } by_number { key: 9 }
                                 by_bool { key: true value: "t" } by_bool { value: "f" })"),
      R"({"by_name":{"a":2,"b":3},"by_number":{"-2":{},"9":{},"10":{"i32":1}},"by_bool":{"false":"f","true":"t"}})");
}

TEST(MessageTypes, RepeatedOccurrencesAreMergedLikeProtobuf) {
  Schema schema(kNumbers);
  const auto types = types_of(schema.descriptors());
  const std::string twice = schema.message("M", "i32: 1 m { i32: 1 s: \"a\" } this_one: \"x\"") +
                            schema.message("M", "i32: 2 m { i32: 3 } that_one: 4");
  EXPECT_EQ(write(*types, "M", twice).text, R"({"i32":2,"m":{"i32":3,"s":"a"},"that_one":4})");
}

constexpr const char* kOldStyle = R"(
  syntax = "proto2";
  enum C { RED = 1; BLUE = 2; }
  message M {
    required int32 id = 1;
    optional group Grp = 2 { optional string name = 3; repeated group In = 4 { optional int32 x = 5; } }
    optional C c = 6 [default = BLUE];
    optional string s = 7 [default = "x"];
    extensions 100 to 200;
    message Nested { optional fixed64 f = 1; extend M { optional Nested inner = 102; } }
  }
  extend M { optional int32 ext = 100; repeated string texts = 101; optional group Eg = 103 { optional int32 q = 1; } })";

TEST(MessageTypes, Proto2GroupsExtensionsAndMissingFieldsAreShown) {
  EXPECT_EQ(json_of(kOldStyle, "Grp { name: \"n\" In { x: 1 } In {} } s: \"x\""),
            R"({"grp":{"name":"n","in":[{"x":1},{}]},"s":"x"})");
  EXPECT_EQ(json_of(kOldStyle, "id: 1 [ext]: 5 [texts]: \"a\" [M.Nested.inner] { f: 3 } [eg] { q: 2 }"),
            R"({"id":1,"[ext]":5,"[texts]":["a"],"[M.Nested.inner]":{"f":"3"},"[eg]":{"q":2}})");
}

constexpr const char* kWellKnown = R"(
  syntax = "proto3";
  import "google/protobuf/any.proto";
  import "google/protobuf/duration.proto";
  import "google/protobuf/field_mask.proto";
  import "google/protobuf/struct.proto";
  import "google/protobuf/timestamp.proto";
  import "google/protobuf/wrappers.proto";
  message M {
    google.protobuf.Timestamp t = 1; google.protobuf.Duration d = 2; google.protobuf.FieldMask f = 3;
    google.protobuf.Struct s = 4; google.protobuf.Value v = 5; google.protobuf.ListValue l = 6;
    google.protobuf.Int64Value i = 7; google.protobuf.BytesValue b = 8; google.protobuf.Any a = 9;
    google.protobuf.NullValue n = 10; repeated google.protobuf.NullValue ns = 11;
  })";

TEST(MessageTypes, TimestampsAndDurationsAreText) {
  EXPECT_EQ(json_of(kWellKnown, "t { seconds: 951782400 nanos: 5000000 } d { seconds: -1 nanos: -1 }"),
            R"({"t":"2000-02-29T00:00:00.005Z","d":"-1.000000001s"})");
  EXPECT_EQ(json_of(kWellKnown, "t { seconds: -62135596800 } d { nanos: -1000 }"),
            R"({"t":"0001-01-01T00:00:00Z","d":"-0.000001s"})");
  EXPECT_EQ(json_of(kWellKnown, "t { seconds: 253402300800 } d { seconds: 1 nanos: -1 }"),
            R"({"t":{"seconds":"253402300800"},"d":{"seconds":"1","nanos":-1}})");
}

TEST(MessageTypes, StructsAreShownAsPlainJson) {
  EXPECT_EQ(json_of(kWellKnown, R"(s { fields { key: "n" value { null_value: NULL_VALUE } }
                                       fields { key: "l" value { list_value { values { number_value: 1.5 } values {} } } }
                                       fields { key: "b" value { bool_value: false } } }
                                   v { string_value: "x" } l {} ns: NULL_VALUE)"),
            R"({"s":{"b":false,"l":[1.5,null],"n":null},"v":"x","l":[],"ns":[null]})");
}

TEST(MessageTypes, WrappersAndMasksAreShownAsTheirContent) {
  EXPECT_EQ(json_of(kWellKnown, R"(i { value: 5 } b { value: "\377" } f { paths: "a_b.c" paths: "d" })"),
            R"({"f":"aB.c,d","i":"5","b":"/w=="})");
  EXPECT_EQ(json_of(kWellKnown, R"(i {} f {})"), R"({"f":"","i":"0"})");
  EXPECT_EQ(json_of(kWellKnown, R"(f { paths: "aB" })"), R"({"f":{"paths":["aB"]}})");
}

TEST(MessageTypes, AnyIsShownAsItsContent) {
  EXPECT_EQ(json_of(kWellKnown, R"(a { type_url: "type.googleapis.com/M" value: "\072\002\010\001" })"),
            R"({"a":{"@type":"type.googleapis.com/M","i":"1"}})");
  EXPECT_EQ(json_of(kWellKnown, R"(a { type_url: "type.googleapis.com/google.protobuf.Duration" value: "\010\001" })"),
            R"({"a":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}})");
  EXPECT_EQ(json_of(kWellKnown, R"(a { type_url: "x/no.such.Type" value: "abc" })"),
            R"({"a":{"type_url":"x/no.such.Type","value":"YWJj"}})");
  EXPECT_EQ(json_of(kWellKnown, R"(a { type_url: "x/M" value: "\377" })"),
            R"({"a":{"type_url":"x/M","value":"/w=="}})");
}

TEST(MessageTypes, WellKnownNameWithOtherFieldsIsAnOrdinaryMessage) {
  auto file = testing::file_of("f", R"(
    syntax = "proto2"; package google.protobuf;
    message Timestamp { optional string seconds = 1; }
    message Any { optional int32 type_url = 1; }
    message Struct { optional int32 fields = 1; }
    message Value { optional int32 x = 1; }
    message ListValue { repeated int32 values = 1; }
    message FieldMask { optional string paths = 1; }
    message Int32Value { repeated int32 value = 1; }
    message All { optional Timestamp t = 1; optional Any a = 2; optional Struct s = 3; optional Value v = 4;
                  optional ListValue l = 5; optional FieldMask f = 6; optional Int32Value i = 7; })");
  testing::pb::FileDescriptorSet set;
  *set.add_file() = file;
  const std::string message(
      "\x0a\x03\x0a\x01x\x12\x02\x08\x01\x1a\x02\x08\x02\x22\x02\x08\x03\x2a\x02\x08\x04\x32\x03\x0a\x01y\x3a\x02\x08"
      "\x05");
  EXPECT_EQ(write(*types_of(testing::serialized(set)), "google.protobuf.All", message).text,
            R"({"t":{"seconds":"x"},"a":{"type_url":1},"s":{"fields":2},"v":{"x":3},"l":{"values":[4]},)"
            R"("f":{"paths":"y"},"i":{"value":[5]}})");
}

TEST(MessageTypes, UnrepresentableValueReportsTheReason) {
  Schema schema(kOldStyle);
  const auto types = types_of(schema.descriptors());
  EXPECT_EQ(write(*types, "M", "\x3a\x01\xff").why, "text is not UTF-8 in M.s");
  EXPECT_EQ(write(*types, "M", "\x3a\x05").why, "not a valid message of this type");
  EXPECT_EQ(write(*types, "N", "").why, "no descriptor of this type");
  Schema strict(kNumbers);
  EXPECT_EQ(write(*types_of(strict.descriptors()), "M", "\x72\x01\xff").why, "not a valid message of this type");
}

// Returns a message nested `depth` times.
std::string nested(int depth, char tag) {
  std::string message;
  for (; depth > 0; --depth) {
    std::string around(1, tag);
    for (std::size_t size = message.size(); around.size() < 2 || size > 0; size >>= 7) {
      around += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80u : 0u));
      if (size <= 0x7f) break;
    }
    message = around + message;
  }
  return message;
}

TEST(MessageTypes, DepthIsBounded) {
  Schema schema(R"(syntax = "proto3"; message M { repeated M m = 1; })");
  const auto types = types_of(schema.descriptors());
  const Written deep = write(*types, "M", nested(79, '\x0a'));
  EXPECT_TRUE(deep.is_good) << deep.why;
  EXPECT_TRUE(nlohmann::json::accept(deep.text));
  // JSON would be nested deeper than its parsers accept.
  EXPECT_EQ(write(*types, "M", nested(99, '\x0a')).why, "message nested too deeply");
  EXPECT_FALSE(write(*types, "M", nested(10000, '\x0a')).is_good);
}

TEST(MessageTypes, FewBytesThatExpandToMuchMemoryAreNotParsed) {
  std::string text = "syntax = \"proto3\"; message M { repeated M m = 1;";
  for (int i = 2; i < 4000; ++i) text += " int64 f" + std::to_string(i) + " = " + std::to_string(i) + ";";
  Schema schema(text + "}");
  const auto types = types_of(schema.descriptors());
  std::string message;
  for (int i = 0; i < 500000; ++i) message += std::string_view("\x0a\x00", 2);
  EXPECT_EQ(write(*types, "M", message).why, "decoding would take too much memory");
  const Written few = write(*types, "M", message.substr(0, 200));
  EXPECT_EQ(nlohmann::json::parse(few.text)["m"].size(), 100u);
  // A message of the same length with less output.
  Schema plain(R"(syntax = "proto3"; message M { repeated bytes b = 1; })");
  const auto plain_types = types_of(plain.descriptors());
  EXPECT_TRUE(
      write(*plain_types, "M", plain.message("M", "b: \"" + std::string(1'000'000, 'x') + "\""), 1u << 22).is_good);
}

TEST(MessageTypes, FewBytesThatExpandToManyFieldsAreNotParsed) {
  std::string text = "syntax = \"proto3\"; message M { repeated M m = 9000; oneof one {";
  for (int i = 1; i <= 8000; ++i) text += " bool f" + std::to_string(i) + " = " + std::to_string(i) + ";";
  Schema schema(text + "}}");
  const auto types = types_of(schema.descriptors());
  const std::string one = schema.message("M", "m {}");
  std::string message;
  for (int i = 0; i < 10'000; ++i) message += one;
  EXPECT_EQ(write(*types, "M", message).why, "decoding would take too long");
  const Written fewer = write(*types, "M", message.substr(0, one.size() * 1000));
  EXPECT_TRUE(fewer.is_good) << fewer.why;
}

// Messages "R0", "R1", ... that each contain the same hundreds of types, and a record with these messages in Anys.
TEST(MessageTypes, TypesInAnysAreBoundedIndependentlyOfEarlierRecords) {
  constexpr int kCycle = 2000;
  constexpr int kRoots = 2500;
  std::string text = "syntax = \"proto3\"; import \"google/protobuf/any.proto\";";
  const auto add = [&](const std::string& name, int inner) {
    text += "message " + name + " { C" + std::to_string(inner) + " f = 1; }";
  };
  for (int i = 0; i < kCycle; ++i) add("C" + std::to_string(i), (i + 1) % kCycle);
  for (int i = 0; i < kRoots; ++i) add("R" + std::to_string(i), 0);
  Schema schema(text + "message M { repeated google.protobuf.Any a = 1; }");
  const auto types = types_of(schema.descriptors());
  const auto any = [&](int root) {
    const std::string url = "t/R" + std::to_string(root);
    const std::string content = std::string("\x0a") + static_cast<char>(url.size()) + url;
    return std::string("\x0a") + static_cast<char>(content.size()) + content;
  };
  std::string all;
  for (int i = 0; i < kRoots; ++i) all += any(i);
  const std::string repeated = any(0) + any(0) + any(1);
  const Written before = write(*types, "M", repeated);
  EXPECT_TRUE(before.is_good) << before.why;
  for (int again = 0; again < 2; ++again) EXPECT_EQ(write(*types, "M", all).why, "decoding would take too long");
  EXPECT_EQ(write(*types, "M", repeated).text, before.text);
}

TEST(MessageTypes, TooLargeTextIsAbandoned) {
  Schema schema(kNumbers);
  const auto types = types_of(schema.descriptors());
  std::string text;
  JsonWriter writer(text, JsonLayout::kLine, 100);
  std::string why;
  types->write("M", as_bytes(schema.message("M", "s: \"" + std::string(1000, 'x') + "\"")), writer, why);
  EXPECT_TRUE(writer.is_full());
  EXPECT_LT(text.size(), 200u);
}

TEST(MessageTypes, ArbitraryBytesAreDecodedOnSeveralThreads) {
  Schema schema(kWellKnown);
  Schema numbers(kNumbers);
  const auto types = types_of(schema.descriptors());
  const auto number_types = types_of(numbers.descriptors());
  const std::string message = numbers.message(
      "M", "i32: 5 m { s: \"abc\" m { d: 1 } } many: [1, 2, 3] by_name { key: \"k\" value: 1 } all { i32: 1 } all {}");
  const std::string expected = write(*number_types, "M", message).text;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 5000; ++i) {
      std::string bytes = message;
      for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
      for (const auto& some : {types, number_types}) {
        const Written written = write(*some, "M", bytes);
        if (written.is_good) {
          EXPECT_TRUE(nlohmann::json::accept(written.text)) << written.text;
        }
      }
      EXPECT_EQ(write(*number_types, "M", message).text, expected);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
}

}  // namespace
}  // namespace recordfs
