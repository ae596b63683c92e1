// The fields of message types, from descriptors that protobuf has written.
#include "core/decoding/message_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "tests/unit/decoding/schema.h"

namespace recordfs {
namespace {

using testing::Schema;

Result<std::vector<MessageField>> fields_of(const std::string& schema, std::string_view type,
                                            const SchemaLimits& limits = {}) {
  return message_schema(as_bytes(*Schema(schema).resolved_descriptors()), type, limits);
}

// Returns "NUMBER NAME" of each field, and what its message contains in parentheses.
std::string outline(const std::vector<MessageField>& fields) {
  std::string text;
  for (const MessageField& field : fields) {
    text += (text.empty() ? "" : ", ") + std::to_string(field.number) + " " + field.name;
    if (!field.fields.empty()) text += " (" + outline(field.fields) + ")";
  }
  return text;
}

TEST(MessageSchema, FieldsAreInOrderOfTheirNumbers) {
  const auto fields = fields_of(R"(syntax = "proto3"; message M { string last = 9; int32 first = 1; })", "M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 first, 9 last");
  EXPECT_EQ((*fields)[0].type, FieldType::kInt32);
  EXPECT_EQ((*fields)[1].type, FieldType::kString);
}

TEST(MessageSchema, NestedTypesAreResolved) {
  const std::string schema = R"(
    syntax = "proto3"; package p;
    message M { Inner inner = 1; repeated Other others = 2; message Inner { Other other = 3; } }
    message Other { bytes content = 4; })";
  const auto fields = fields_of(schema, "p.M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 inner (3 other (4 content)), 2 others (4 content)");
  EXPECT_TRUE((*fields)[1].is_repeated);
  const auto inner = fields_of(schema, ".p.M.Inner");
  ASSERT_TRUE(inner);
  EXPECT_EQ(outline(*inner), "3 other (4 content)");
}

TEST(MessageSchema, MessageThatContainsItselfIsBytes) {
  const auto fields = fields_of(R"(
    syntax = "proto3";
    message M { int32 value = 1; M direct = 2; Other other = 3; }
    message Other { repeated M through = 1; })",
                                "M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 value, 2 direct, 3 other (1 through)");
  EXPECT_EQ((*fields)[1].type, FieldType::kBytes);
  EXPECT_EQ((*fields)[2].fields[0].type, FieldType::kBytes);
}

TEST(MessageSchema, MessageBelowTheDepthIsBytes) {
  const auto fields = fields_of(R"(
    syntax = "proto3"; message A { B b = 1; } message B { C c = 1; } message C { int32 value = 1; })",
                                "A", {.depth = 1});
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 b (1 c)");
  EXPECT_EQ((*fields)[0].fields[0].type, FieldType::kBytes);
}

TEST(MessageSchema, PresenceIsThatOfProto2AndProto3) {
  const auto old_fields =
      fields_of(R"(syntax = "proto2"; message M { optional int32 a = 1; repeated int32 b = 2; })", "M");
  ASSERT_TRUE(old_fields);
  EXPECT_TRUE((*old_fields)[0].has_presence);
  EXPECT_FALSE((*old_fields)[1].has_presence);
  const auto new_fields = fields_of(R"(
    syntax = "proto3";
    message M { int32 a = 1; optional int32 b = 2; M c = 3; oneof choice { int32 d = 4; string e = 5; } })",
                                    "M");
  ASSERT_TRUE(new_fields);
  const std::vector<bool> expected = {false, true, true, true, true};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*new_fields)[i].has_presence, expected[i]) << i;
  ASSERT_TRUE((*new_fields)[3].oneof);
  EXPECT_EQ((*new_fields)[3].oneof, (*new_fields)[4].oneof);
  EXPECT_FALSE((*new_fields)[0].oneof);
}

TEST(MessageSchema, MapIsARepeatedMessageOfKeyAndValue) {
  const auto fields = fields_of(R"(syntax = "proto3"; message M { map<string, int64> counts = 1; })", "M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 counts (1 key, 2 value)");
  EXPECT_TRUE((*fields)[0].is_repeated);
  EXPECT_FALSE((*fields)[0].fields[0].has_presence);
  EXPECT_FALSE((*fields)[0].fields[1].has_presence);
}

TEST(MessageSchema, WellKnownTypeHasTheFormOfJson) {
  const auto fields = fields_of(R"(
    syntax = "proto3"; package google.protobuf;
    message Timestamp { int64 seconds = 1; int32 nanos = 2; }
    message Duration { string other = 1; }
    message UInt32Value { uint32 value = 1; }
    enum NullValue { NULL_VALUE = 0; }
    message M { Timestamp at = 1; repeated UInt32Value all = 2; NullValue none = 3; Duration other = 4; })",
                                "google.protobuf.M");
  ASSERT_TRUE(fields) << fields.error().detail;
  EXPECT_EQ(outline(*fields), "1 at, 2 all, 3 none, 4 other (1 other)");
  using Form = std::tuple<MessageForm, FieldType, protobuf::WireType>;
  const auto form = [&](std::size_t i) {
    return Form((*fields)[i].form, (*fields)[i].type, wire_type_of((*fields)[i]));
  };
  EXPECT_EQ(form(0), Form(MessageForm::kTimestamp, FieldType::kString, protobuf::WireType::kLengthDelimited));
  EXPECT_EQ(form(1), Form(MessageForm::kWrapper, FieldType::kUint32, protobuf::WireType::kLengthDelimited));
  EXPECT_EQ(form(2), Form(MessageForm::kNull, FieldType::kEnum, protobuf::WireType::kVarint));
}

TEST(MessageSchema, EnumOfProto2IsClosed) {
  for (const char* const syntax : {"proto2", "proto3"}) {
    const std::string zero = std::string_view(syntax) == "proto3" ? "N = 0;" : "";
    const auto fields = fields_of(
        fmt::format(R"(syntax = "{}"; enum E {{ {} A = 5; B = 1; }} message M {{ repeated E e = 1; }})", syntax, zero),
        "M");
    ASSERT_TRUE(fields);
    EXPECT_EQ((*fields)[0].is_closed, zero.empty());
    EXPECT_EQ((*fields)[0].default_number, zero.empty() ? 5 : 0);
  }
}

TEST(MessageSchema, EnumHasTheFirstNameOfEachNumber) {
  const auto fields = fields_of(R"(
    syntax = "proto2";
    enum E { option allow_alias = true; ZERO = 0; NOTHING = 0; LESS = -1; }
    message M { optional E e = 1; })",
                                "M");
  ASSERT_TRUE(fields);
  ASSERT_NE((*fields)[0].enumerators, nullptr);
  EXPECT_EQ(*(*fields)[0].enumerators, (Enumerators{{-1, "LESS"}, {0, "ZERO"}}));
}

TEST(MessageSchema, GroupIsAMessage) {
  const auto fields = fields_of(R"(
    syntax = "proto2"; message M { optional int32 a = 1; optional group G = 2 { optional int32 b = 3; } })",
                                "M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 a, 2 g (3 b)");
  EXPECT_TRUE((*fields)[1].is_group && (*fields)[1].has_presence);
  EXPECT_EQ(wire_type_of((*fields)[1]), protobuf::WireType::kGroupStart);
}

TEST(MessageSchema, ExtensionsAreFieldsOfTheExtendedType) {
  const std::string schema = R"(
    syntax = "proto2"; package p;
    message M { optional int32 a = 9; extensions 1 to 8; }
    message Other { extend M { repeated int32 scoped = 2; } }
    extend M { optional Other other = 1; })";
  const auto fields = fields_of(schema, "p.M");
  ASSERT_TRUE(fields);
  EXPECT_EQ(outline(*fields), "1 [p.other], 2 [p.Other.scoped], 9 a");
  EXPECT_TRUE((*fields)[0].has_presence && (*fields)[1].is_repeated);
}

TEST(MessageSchema, ExtensionWithAnInvalidFullNameIsDamage) {
  std::string descriptors = *Schema(R"(
    syntax = "proto2"; package pq; message M { extensions 1 to 8; } extend M { optional int32 e = 1; })")
                                 .resolved_descriptors();
  for (std::size_t at = 0; (at = descriptors.find("pq", at)) != std::string::npos; ++at) descriptors[at + 1] = '\0';
  const auto fields = message_schema(as_bytes(descriptors), std::string_view("p\0.M", 4));
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, Code::kDamage);
}

TEST(MessageSchema, MessageSetIsUnsupported) {
  const auto fields = fields_of(R"(
    syntax = "proto2"; message M { option message_set_wire_format = true; extensions 4 to max; })",
                                "M");
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, Code::kUnsupported);
}

TEST(MessageSchema, UnknownTypeIsNotFound) {
  const auto fields = fields_of(R"(syntax = "proto3"; message M {})", "N");
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, Code::kNotFound);
  EXPECT_NE(fields.error().detail.find("N"), std::string::npos);
}

TEST(MessageSchema, TypesThatMultiplyHitTheLimitOfFields) {
  // Twelve levels of four fields each would be 16 million fields.
  std::string schema = R"(syntax = "proto3"; message M12 { int32 value = 1; })";
  for (int level = 11; level >= 0; --level) {
    const std::string next = "M" + std::to_string(level + 1);
    schema += "message M" + std::to_string(level) + " {";
    for (int field = 1; field <= 4; ++field)
      schema += next + " f" + std::to_string(field) + " = " + std::to_string(field) + ";";
    schema += "}";
  }
  const auto fields = fields_of(schema, "M0");
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, Code::kLimit);
}

TEST(MessageSchema, BytesThatAreNoDescriptorsAreDamage) {
  const auto fields = message_schema(as_bytes(std::string_view("\x0a\x7f no")), "M");
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, Code::kDamage);
}

TEST(MessageSchema, FieldsOfEachTypeHaveTheWireTypeOfTheEncoding) {
  using protobuf::WireType;
  EXPECT_EQ(wire_type_of(FieldType::kDouble), WireType::kFixed64);
  EXPECT_EQ(wire_type_of(FieldType::kFloat), WireType::kFixed32);
  EXPECT_EQ(wire_type_of(FieldType::kSint64), WireType::kVarint);
  EXPECT_EQ(wire_type_of(FieldType::kString), WireType::kLengthDelimited);
  EXPECT_EQ(wire_type_of(FieldType::kGroup), WireType::kGroupStart);
}

}  // namespace
}  // namespace recordfs
