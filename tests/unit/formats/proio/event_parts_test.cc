// The parts of handmade events.
#include "core/formats/proio/event.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/toy/parts.h"
#include "tests/unit/formats/proio/streams.h"

namespace recordfs::proio {
namespace {

using Strings = std::vector<std::string>;

// Returns "tags/T/1=bytes" for each file, "tags/T/" for each directory.
Strings describe_parts(std::string_view event, const Limits& limits = {}) {
  const auto value = value_of_event(as_bytes(event), limits, ValueForm::kParts);
  if (!value) return {"!" + std::string(to_string(value.error().code))};
  Strings paths, all;
  for (const Part& part : parts_in(*value, as_bytes(event))) {
    const std::string path = (part.parent ? paths[*part.parent] : "") + part.key;
    paths.push_back(path + "/");
    if (part.kind == PartKind::kDirectory) all.push_back(path + "/");
    if (part.kind == PartKind::kText) all.push_back(path + "=" + part.text);
    if (part.kind == PartKind::kSlice) {
      all.push_back(path + "=" + std::string(event.substr(part.extent.begin, part.extent.size)));
    }
  }
  return all;
}

const std::string kHeading = "types.tsv=entry\ttype\tname\n";

TEST(EventParts, EmptyEventHasEmptyDirectories) {
  EXPECT_EQ(describe_parts(""), (Strings{"tags/", "entries/", kHeading}));
}

TEST(EventParts, EntriesAreListedUnderTheirTagsAndInEntries) {
  const std::string event = type(1, "proio.Hit") + entry(2, 1, "two") + entry(10, 1, "ten") + entry(1, 3, "") +
                            tag("b/c", {10, 2}) + tag("a", {10}) + number(2, 10) + number(4, 1);
  EXPECT_EQ(describe_parts(event),
            (Strings{"tags/", "tags/a/", "tags/a/10=ten", "tags/b/c/", "tags/b/c/10=ten", "tags/b/c/2=two", "entries/",
                     "entries/1=", "entries/2=two", "entries/10=ten",
                     kHeading + "1\t3\t\n2\t1\tproio.Hit\n10\t1\tproio.Hit\n"}));
}

TEST(EventParts, DanglingIdsOfATagAreOmittedAndRepeatedOnesShownOnce) {
  EXPECT_EQ(describe_parts(entry(1, 1, "x") + tag("", {7, 1, 1}) + tag("none", {})),
            (Strings{"tags/", "tags//", "tags//1=x", "tags/none/", "entries/", "entries/1=x", kHeading + "1\t1\t\n"}));
}

TEST(EventParts, AnyNumberIsAValidId) {
  const std::string event = entry(0, 0, "zero") + entry(~std::uint64_t{0}, 0, "last");
  EXPECT_EQ(describe_parts(event)[3], "entries/18446744073709551615=last");
}

TEST(EventParts, EachEntryHasTheTypeOfItsMessage) {
  const std::string event = type(1, ".proio.Hit") + entry(1, 1, "a") + entry(2, 7, "b") + tag("t", {1});
  const auto value = value_of_event(as_bytes(event), Limits{}, ValueForm::kParts);
  ASSERT_TRUE(value);
  Strings types;
  for (const Part& part : parts_in(*value, as_bytes(event))) types.push_back(part.key + "=" + part.type);
  EXPECT_EQ(types, (Strings{"tags=", "t=", "1=proio.Hit", "entries=", "1=proio.Hit", "2=", "types.tsv="}));
}

TEST(EventParts, TypeNamesOfTooManyMentionsAreRefused) {
  Limits limits;
  limits.metadata_bytes = 1000;
  std::string event = type(1, std::string(100, 'T')) + entry(1, 1, "a");
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}) event += tag(std::string(1, name), {1});
  EXPECT_NE(describe_parts(event, limits)[0][0], '!');
  EXPECT_EQ(describe_parts(event + tag("j", {1}), limits), Strings{"!limit"});
}

TEST(EventParts, LastOneOfADuplicateKeyReplacesTheOthers) {
  const std::string without_type = content(3, number(1, 1) + content(2, content(2, "new")));
  EXPECT_EQ(
      describe_parts(entry(1, 9, "old") + without_type + tag("t", {1}) + tag("t", {}) + type(0, "a") + type(0, "b")),
      (Strings{"tags/", "tags/t/", "entries/", "entries/1=new", kHeading + "1\t0\tb\n"}));
}

TEST(EventParts, IdsOfATagNeedNotBePacked) {
  const std::string loose = content(1, content(1, "t") + content(2, number(1, 2) + content(1, "\x01") + number(1, 3)));
  EXPECT_EQ(describe_parts(loose + entry(1, 0, "a") + entry(2, 0, "b") + entry(3, 0, "c"))[2], "tags/t/2=b");
}

TEST(EventParts, UnknownFieldsAndGroupsAreSkipped) {
  EXPECT_EQ(describe_parts(content(99, "?") + "\x0b\x0c" + number(3, 5)), (Strings{"tags/", "entries/", kHeading}));
}

TEST(EventParts, LineBreaksInTypeNamesAreEscaped) {
  EXPECT_EQ(describe_parts(entry(1, 1, "") + type(1, "a\tb\n\\"))[3], kHeading + "1\t1\ta\\x09b\\x0a\\\\\n");
}

TEST(EventParts, BrokenEventIsDamage) {
  for (const std::string& event : {std::string("\x07"), std::string("\x0a\x05x"), content(1, "\x0a"),
                                   content(1, content(2, content(1, "\x80"))), content(3, content(2, "\x12\x09"))}) {
    EXPECT_EQ(describe_parts(event), Strings{"!" + std::string(to_string(Code::kDamage))})
        << ::testing::PrintToString(event);
  }
}

TEST(EventParts, MoreThanTheLimitAreRefused) {
  Limits limits;
  limits.parts_per_record = 6;
  const std::string event = entry(1, 1, "") + tag("t", {1});
  EXPECT_EQ(describe_parts(event, limits).size(), 6u);
  EXPECT_EQ(describe_parts(event + tag("u", {}), limits), Strings{"!" + std::string(to_string(Code::kLimit))});
}

TEST(EventParts, LongTypeNamesAreNotCopiedPerEntry) {
  Limits limits;
  limits.metadata_bytes = 10000;
  std::string event = type(1, std::string(5000, 'n')) + entry(1, 1, "");
  EXPECT_EQ(describe_parts(event, limits).size(), 4u);
  event += entry(2, 1, "");
  EXPECT_EQ(describe_parts(event, limits), Strings{"!" + std::string(to_string(Code::kLimit))});
}

}  // namespace
}  // namespace recordfs::proio
