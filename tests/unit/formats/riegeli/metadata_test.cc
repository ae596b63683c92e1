#include "core/formats/riegeli/metadata.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace recordfs::riegeli {
namespace {

std::map<std::string, std::string> fields_of(std::string_view message) {
  auto attributes = parse_metadata(as_bytes(message), Limits{});
  if (!attributes) return {{"error", attributes.error().detail}};
  std::map<std::string, std::string> fields;
  for (const Attribute& attribute : *attributes) fields[attribute.key] = attribute.value;
  return fields;
}

Code failure_of(std::string_view message, const Limits& limits = {}) {
  auto attributes = parse_metadata(as_bytes(message), limits);
  return attributes ? Code::kNotFound : attributes.error().code;
}

TEST(Metadata, EmptyMessageHasNoAttributes) { EXPECT_TRUE(fields_of("").empty()); }

TEST(Metadata, PresentFieldsAreReturned) {
  const auto fields = fields_of("\x0a\x03pdq\x12\x01T\x22\x02op");
  EXPECT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields.at("file_comment"), "pdq");
  EXPECT_EQ(fields.at("record_type_name"), "T");
  EXPECT_EQ(fields.at("record_writer_options"), "op");
  EXPECT_EQ(fields.at("records_metadata"), "\x0a\x03pdq\x12\x01T\x22\x02op");
}

TEST(Metadata, LastValueOfAFieldIsUsed) { EXPECT_EQ(fields_of("\x0a\x01x\x0a\x01y").at("file_comment"), "y"); }

TEST(Metadata, NumberOfRecordsIsDecimalAndMayBeNegative) {
  EXPECT_EQ(fields_of("\x28\x96\x01").at("num_records"), "150");
  EXPECT_EQ(fields_of("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").at("num_records"), "-1");
}

TEST(Metadata, FileDescriptorsFormOneSet) {
  EXPECT_EQ(fields_of("\x1a\x01x\x0a\x01z\x1a\x02yy").at("file_descriptor_set"), "\x0a\x01x\x0a\x02yy");
}

TEST(Metadata, ExtensionsAndGroupsAreLeftInTheMessage) {
  const std::string extension = "\xc2\x3e\x02hi";
  const std::string group = "\xc3\x3e\x0b\x08\x01\x0c\xc4\x3e";
  const auto fields = fields_of(extension + group + "\x0a\x01x");
  EXPECT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields.at("file_comment"), "x");
}

TEST(Metadata, BrokenMessagesAreDamage) {
  for (const std::string_view message : {"\x0a\x05x", "\x0a", "\x08\x01", "\x2a\x01x", "\x07", "\xc3\x3e\x0c",
                                         "\xc3\x3e", "\x02\x01x", "\xc4\x3e", "\x28\xff"}) {
    EXPECT_EQ(failure_of(message), Code::kDamage) << ::testing::PrintToString(message);
  }
}

TEST(Metadata, GroupNestingIsLimited) {
  const std::string open = "\xc3\x3e", close = "\xc4\x3e";
  Limits limits;
  limits.nesting_depth = 2;
  EXPECT_EQ(failure_of(open + open + close + close, limits), Code::kNotFound);
  EXPECT_EQ(failure_of(open + open + open + close + close + close, limits), Code::kLimit);
}

}  // namespace
}  // namespace recordfs::riegeli
