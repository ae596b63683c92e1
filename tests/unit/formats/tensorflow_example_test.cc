#include "core/formats/tensorflow_example.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "tests/toy/parts.h"

namespace recordfs::tensorflow {
namespace {

std::string field(std::uint32_t number, std::string_view content) {
  std::string out;
  protobuf::append_field(out, number, content);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  protobuf::append_varint(out, value);
  return out;
}

std::string fixed32(std::uint32_t bits) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i) & 0xFF);
  return out;
}

std::string floats(const std::vector<float>& values) {
  std::string out;
  for (const float value : values) out += fixed32(std::bit_cast<std::uint32_t>(value));
  return field(1, out);
}

std::string ints(const std::vector<std::int64_t>& values) {
  std::string out;
  for (const std::int64_t value : values) out += varint(static_cast<std::uint64_t>(value));
  return field(1, out);
}

constexpr std::uint32_t kBytes = 1;
constexpr std::uint32_t kFloats = 2;
constexpr std::uint32_t kInts = 3;

std::string entry(std::string_view key, std::string_view value) { return field(1, field(1, key) + field(2, value)); }
std::string example(const std::string& entries) { return field(1, entries); }
std::string example(std::uint32_t kind, const std::string& list) { return example(entry("key", field(kind, list))); }

// Returns one line for each part: its path and content.
std::string tree(const std::string& record) {
  const auto value = value_of_example(as_bytes(record), Limits{}, ValueForm::kParts);
  if (!value) return std::string(to_string(value.error().code));
  std::vector<std::string> paths;
  std::string out;
  for (const Part& part : parts_in(*value, as_bytes(record))) {
    paths.push_back((part.parent ? paths[*part.parent] + "/" : "") + part.key);
    out += paths.back();
    if (part.kind == PartKind::kSlice) out += "=" + record.substr(part.extent.begin, part.extent.size);
    if (part.kind == PartKind::kText) out += ":" + part.text;
    if (part.kind != PartKind::kText || part.text.empty()) out += "\n";
  }
  return out;
}

std::string shown(const Value& value);

struct Shown {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return value == 0.1 ? "0.1" : std::isnan(value) ? "nan" : "?"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(Bytes value) const { return std::string(as_text(value)); }
  std::string operator()(const Message&) const { return "message"; }
  std::string operator()(const Value::List& values) const {
    std::string out = "[";
    for (const Value& value : values) out += shown(value) + " ";
    return out + "]";
  }
  std::string operator()(const Value::Object& members) const {
    std::string out = "{";
    for (const Member& member : members) out += std::string(member.name) + ":" + shown(member.value) + " ";
    return out + "}";
  }
};

std::string shown(const Value& value) { return std::visit(Shown(), value.is); }

std::string value(const std::string& record) {
  const auto value = value_of_example(as_bytes(record), Limits{}, ValueForm::kJson);
  return value ? shown(*value) : std::string(to_string(value.error().code));
}

const std::string kDamage(to_string(Code::kDamage));

TEST(TensorflowExample, OneBytesValueIsAFile) { EXPECT_EQ(tree(example(kBytes, field(1, "jpeg"))), "key=jpeg\n"); }

TEST(TensorflowExample, SeveralBytesValuesAreADirectory) {
  EXPECT_EQ(tree(example(kBytes, field(1, "a") + field(1, "b"))), "key\nkey/0=a\nkey/1=b\n");
}

TEST(TensorflowExample, NumbersAreListedOnePerLine) {
  EXPECT_EQ(tree(example(kInts, ints({1, -1}))), "key:1\n-1\n");
  EXPECT_EQ(tree(example(kFloats, floats({0.1f, 1e-40f, -0.0f, std::numeric_limits<float>::infinity()}))),
            "key:0.1\n1e-40\n-0\ninf\n");
}

TEST(TensorflowExample, ListsNeedNotBePacked) {
  EXPECT_EQ(tree(example(kInts, varint(1 << 3) + varint(7) + ints({8}))), "key:7\n8\n");
  EXPECT_EQ(tree(example(kFloats, varint(1 << 3 | 5) + fixed32(std::bit_cast<std::uint32_t>(0.5f)))), "key:0.5\n");
}

TEST(TensorflowExample, FeatureWithoutValuesIsAnEmptyFile) {
  for (const std::string& feature : {std::string(), field(kBytes, ""), field(kFloats, ""), field(kInts, "")}) {
    EXPECT_EQ(tree(example(entry("key", feature))), "key:\n");
  }
}

TEST(TensorflowExample, KeysAreSortedAndTheLastDuplicateIsUsed) {
  const auto feature = [](std::string_view text) { return field(kBytes, field(1, text)); };
  EXPECT_EQ(tree(example(entry("b", feature("1")) + entry("a", feature("2")) + entry("b", feature("3")))),
            "a=2\nb=3\n");
}

TEST(TensorflowExample, FeaturesOfAListAreCountedBeforeReading) {
  Limits limits;
  limits.parts_per_record = 10;
  std::string features = field(1, "none");
  for (int i = 0; i < 10; ++i) features += field(1, "");
  const std::string record = field(2, entry("frames", features));
  const auto parts = value_of_example(as_bytes(record), limits, ValueForm::kParts);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code, Code::kLimit);
  const auto value = value_of_example(as_bytes(record), limits, ValueForm::kJson);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, Code::kLimit);
}

TEST(TensorflowExample, SequenceExampleHasContextAndLists) {
  const std::string frame = field(1, field(kBytes, field(1, "frame")));
  const std::string lists = field(2, entry("frames", frame + frame));
  EXPECT_EQ(tree(example(kBytes, field(1, "id")) + lists),
            "context\ncontext/key=id\nfeature_lists\nfeature_lists/frames\nfeature_lists/frames/0=frame\n"
            "feature_lists/frames/1=frame\n");
  EXPECT_EQ(tree(lists),
            "feature_lists\nfeature_lists/frames\nfeature_lists/frames/0=frame\nfeature_lists/frames/1=frame\n");
  EXPECT_EQ(
      value(lists),
      "{feature_lists:{feature_list:{frames:{feature:[{bytes_list:{value:[frame ] } } {bytes_list:{value:[frame ] } } "
      "] } } } }");
}

TEST(TensorflowExample, ValueUsesTheNamesOfTheProto) {
  EXPECT_EQ(value(example(kInts, ints({1, -1}))), "{features:{feature:{key:{int64_list:{value:[1 -1 ] } } } } }");
  EXPECT_EQ(value(example(kFloats, floats({0.1f, std::nanf("")}))),
            "{features:{feature:{key:{float_list:{value:[0.1 nan ] } } } } }");
  EXPECT_EQ(value(example(entry("key", ""))), "{features:{feature:{key:{} } } }");
}

TEST(TensorflowExample, UnexpectedFieldIsNotAnExample) {
  const std::string good = example(kInts, ints({1}));
  EXPECT_NE(tree(good), kDamage);
  const std::string strangers[] = {
      "",
      "text",
      example(""),
      good.substr(0, good.size() - 1),
      good + good,
      good + field(3, "more"),
      good + varint(1 << 3) + varint(5),
      example(kInts + 1, ""),
      example(entry("key", field(kInts, "") + field(kBytes, ""))),
      example(entry("\xFF", field(kInts, ""))),
      example(field(1, field(1, "key"))),
      example(field(1, field(2, ""))),
      example(entry("key", "") + field(2, "")),
      example(kFloats, field(1, "123")),
      example(kInts, field(1, "\x80")),
      example(kBytes, varint(1 << 3) + varint(5)),
  };
  for (const std::string& record : strangers) {
    EXPECT_EQ(tree(record), kDamage) << record;
    EXPECT_EQ(value(record), kDamage) << record;
  }
}

TEST(TensorflowExample, LimitsAreEnforced) {
  const std::string many = example(kBytes, field(1, "a") + field(1, "b") + field(1, "c"));
  Limits limits;
  limits.parts_per_record = 3;
  EXPECT_EQ(value_of_example(as_bytes(many), limits, ValueForm::kParts).error().code, Code::kLimit);
  EXPECT_EQ(value_of_example(as_bytes(many), limits, ValueForm::kJson).error().code, Code::kLimit);
  limits.metadata_bytes = 3;
  const std::string numbers = example(kInts, ints({1, 2}));
  EXPECT_EQ(value_of_example(as_bytes(numbers), limits, ValueForm::kParts).error().code, Code::kLimit);
}

}  // namespace
}  // namespace recordfs::tensorflow
