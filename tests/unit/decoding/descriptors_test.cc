// Malicious descriptor sets.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/decoding/descriptor_set.h"
#include "core/decoding/protobuf_module.h"
#include "tests/unit/decoding/schema.h"

namespace recordfs {
namespace {

using testing::file_of;
using testing::pb::FileDescriptorSet;

// Decodes a message with one field, 1 = 5, as a type of a set. Returns the JSON, or the reason why there is none.
std::string five(const FileDescriptorSet& set, std::string_view type) {
  const auto types = shared_types(testing::serialized(set));
  if (!types) return types.error().detail;
  std::string text;
  std::string why;
  JsonWriter writer(text, JsonLayout::kLine, 1u << 20);
  return (*types)->write(type, as_bytes("\x08\x05"), writer, why) ? text : why;
}

FileDescriptorSet set_of(const std::vector<std::pair<std::string, std::string>>& files) {
  FileDescriptorSet set;
  for (const auto& [name, text] : files) *set.add_file() = file_of(name, "syntax = \"proto3\"; " + text);
  return set;
}

Code failure_of(const FileDescriptorSet& set, const DescriptorLimits& limits = {}) {
  const auto bytes = testing::serialized(set);
  const auto read = read_descriptor_set(as_bytes(*bytes), limits);
  EXPECT_FALSE(read);
  return read ? Code::kPending : read.error().code;
}

TEST(Descriptors, ImportsMayBeInAnyOrder) {
  EXPECT_EQ(five(set_of({{"a", "import \"b\"; message A { int32 x = 1; B b = 2; }"},
                         {"b", "import \"c\"; message B { C c = 1; }"},
                         {"c", "message C { int32 x = 1; }"}}),
                 "A"),
            R"({"x":5})");
}

TEST(Descriptors, FileThatImportsItselfIsRefusedButOthersAreUsable) {
  const auto set = set_of({{"a", "import \"b\"; message A { int32 x = 1; }"},
                           {"b", "import \"a\"; message B { int32 x = 1; }"},
                           {"self", "import \"self\"; message S { int32 x = 1; }"},
                           {"c", "message C { int32 x = 1; }"}});
  EXPECT_NE(five(set, "A").find("Import"), std::string::npos);
  EXPECT_NE(five(set, "B").find("Import"), std::string::npos);
  EXPECT_NE(five(set, "S"), R"({"x":5})");
  EXPECT_EQ(five(set, "C"), R"({"x":5})");
}

TEST(Descriptors, MissingImportIsNamedInTheError) {
  const auto set = set_of({{"a", "import \"gone\"; message A { int32 x = 1; }"}, {"c", "message C { int32 x = 1; }"}});
  EXPECT_NE(five(set, "A").find("gone"), std::string::npos);
  EXPECT_EQ(five(set, "C"), R"({"x":5})");
}

TEST(Descriptors, WellKnownImportsNeedNotBeIncluded) {
  EXPECT_EQ(five(set_of({{"a", R"(import "google/protobuf/timestamp.proto"; import "google/protobuf/api.proto";
                                  message A { int32 x = 1; google.protobuf.Timestamp t = 2; })"}}),
                 "A"),
            R"({"x":5})");
}

TEST(Descriptors, FirstUsableFileOfARepeatedNameIsUsed) {
  EXPECT_EQ(five(set_of({{"a", "message A { int32 x = 1; }"}, {"a", "message A { int32 y = 1; }"}}), "A"),
            R"({"x":5})");
  EXPECT_EQ(
      five(set_of({{"a", "import \"gone\"; message A { int32 x = 1; }"}, {"a", "message A { int32 y = 1; }"}}), "A"),
      R"({"y":5})");
  EXPECT_EQ(five(set_of({{"a", "message A { int32 x = 1; }"}, {"b", "message A { int32 y = 1; }"}}), "A"),
            R"({"x":5})");
}

TEST(Descriptors, BadNamesAndNumbersAreReportedByLibprotobuf) {
  auto set = set_of({{"a", "message A { int32 x = 1; }"}});
  set.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->set_name("x y");
  EXPECT_NE(five(set, "A").find("not a valid identifier"), std::string::npos);
  set = set_of({{"a", "message A { int32 x = 1; }"}});
  set.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->set_number(-1);
  EXPECT_NE(five(set, "A").find("positive"), std::string::npos);
}

TEST(Descriptors, DescriptorsThatCostTooMuchAreNotBuilt) {
  FileDescriptorSet set = set_of({{"a", "message A {}"}});
  auto* const message = set.mutable_file(0)->mutable_message_type(0);
  for (int i = 0; i < 1'000'000; ++i) {
    auto* const field = message->add_field();
    field->set_name("f" + std::to_string(i));
    field->set_number(i + (i < 18999 ? 1 : 1001));
    field->set_type(testing::pb::FieldDescriptorProto::TYPE_INT32);
  }
  EXPECT_EQ(failure_of(set), Code::kLimit);
  message->mutable_field()->DeleteSubrange(20000, 980'000);
  EXPECT_EQ(five(set, "A"), "too many fields in one message type");
  message->mutable_field()->DeleteSubrange(8000, 12000);
  EXPECT_EQ(five(set, "A"), R"({"f0":5})");
}

TEST(Descriptors, QuadraticConstructionTimeIsBounded) {
  FileDescriptorSet ranges = set_of({{"a", "message A {}"}});
  for (int i = 0; i < 2000; ++i) ranges.mutable_file(0)->mutable_message_type(0)->add_extension_range();
  EXPECT_EQ(failure_of(ranges), Code::kLimit);
  FileDescriptorSet chain;
  for (int i = 0; i < 2000; ++i) {
    auto* const file = chain.add_file();
    file->set_name("f" + std::to_string(i));
    file->add_dependency("f" + std::to_string(i + 1));
    file->add_public_dependency(0);
  }
  EXPECT_EQ(failure_of(chain), Code::kLimit);
  FileDescriptorSet many;
  for (int i = 0; i < 9000; ++i) many.add_file()->set_name("f" + std::to_string(i));
  EXPECT_EQ(failure_of(many), Code::kLimit);
}

TEST(Descriptors, MessageNestingIsBounded) {
  FileDescriptorSet set = set_of({{"a", "message A { int32 x = 1; }"}});
  auto* inner = set.mutable_file(0)->mutable_message_type(0);
  for (int i = 0; i < 25; ++i) {
    inner = inner->add_nested_type();
    inner->set_name("N");
  }
  EXPECT_EQ(five(set, "A"), R"({"x":5})");
  for (int i = 0; i < 25; ++i) inner = inner->add_nested_type();
  EXPECT_EQ(failure_of(set), Code::kLimit);
}

TEST(Descriptors, CycleOfThousandsOfTypesDoesNotOverflowTheCallersStack) {
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    const int next = (i + 1) % 4000;
    text += "message M" + std::to_string(i) + " { M" + std::to_string(next) + " m = 2; int32 x = 1; }\n";
  }
  EXPECT_EQ(five(set_of({{"a", text}}), "M0"), R"({"x":5})");
}

TEST(Descriptors, SourceInfoIsIgnored) {
  FileDescriptorSet set = set_of({{"a", "message A { int32 x = 1; }"}});
  for (int i = 0; i < 400'000; ++i) set.mutable_file(0)->mutable_source_code_info()->add_location();
  EXPECT_EQ(five(set, "A"), R"({"x":5})");
}

TEST(Descriptors, ArbitraryBytesAreHandled) {
  const auto bytes = testing::serialized(
      set_of({{"a",
               "import \"b\"; message A { int32 x = 1; B b = 2; enum E { Z = 0; } map<int32, B> m = 3; oneof o { E e = "
               "4; } }"},
              {"b", "message B { repeated B b = 1; reserved 5 to 9; } service S { rpc R(B) returns (B); }"}}));
  constexpr std::string_view kEncoded("\x08\x05\x12\x02\x0a\x00\x1a\x04\x08\x01\x12\x00\x20\x01", 14);
  std::mt19937 random(3);
  int usable = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = *bytes;
    for (unsigned change = random() % 4 + 1; change > 0; --change) {
      changed[random() % changed.size()] = static_cast<char>(random() % 2 == 0 ? random() : random() % 32);
    }
    const auto types = shared_types(std::make_shared<const std::string>(changed));
    if (!types) continue;
    for (const char* const type : {"A", "B"}) {
      std::string text;
      std::string why;
      JsonWriter writer(text, JsonLayout::kLine, 1u << 20);
      if (!(*types)->write(type, as_bytes(kEncoded), writer, why)) continue;
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
      ++usable;
    }
  }
  EXPECT_GT(usable, 1000);
}

TEST(UserTypes, TypeNameIsRequiredIfThereAreSeveral) {
  const auto one = testing::serialized(set_of({{"a", "package p; message A { message In {} }"}}));
  EXPECT_EQ(user_types(*one, "").value().type, "p.A");
  EXPECT_EQ(user_types(*one, ".p.A.In").value().type, "p.A.In");
  EXPECT_EQ(user_types(*one, "A").error().detail, "contains no message type A");
  const auto two = testing::serialized(set_of({{"a", "message A {}"}, {"b", "message B {}"}}));
  EXPECT_EQ(user_types(*two, "").value().type, "");
  EXPECT_EQ(user_types(*two, "").value().top_types, 2u);
  EXPECT_EQ(user_types(*two, "B").value().type, "B");
  const auto imports = testing::serialized(
      set_of({{"google/protobuf/x.proto", "package google.protobuf; message X {}"}, {"b", "message B {}"}}));
  EXPECT_EQ(user_types(*imports, "").value().type, "B");
  EXPECT_EQ(user_types("no descriptors", "").error().code, Code::kDamage);
  EXPECT_EQ(user_types("", "").error().code, Code::kDamage);
}

}  // namespace
}  // namespace recordfs
