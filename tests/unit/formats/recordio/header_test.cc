// The header block, and the metadata read from it.
#include <gtest/gtest.h>

#include "core/formats/recordio/current/header.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

std::string shown(const std::vector<Attribute>& attributes) {
  std::string all;
  for (const Attribute& a : attributes) all += a.key + "=" + a.type + ":" + a.value + ";";
  return all;
}

std::string metadata_of(const std::string& file) {
  return shown(open_file(file)->metadata()->attributes({}, nullptr).value());
}

std::string fact(const Container& container, std::string_view name) {
  for (const Fact& fact : container.traits().facts) {
    if (fact.name == name) return std::get<std::string>(fact.value);
  }
  return "-";
}

TEST(Header, ValuesOfEveryTypeAreShownInOrder) {
  const std::string file = header({{string_value("t"), bool_value(true)},
                                   {string_value("f"), bool_value(false)},
                                   {string_value("i"), int_value(-5)},
                                   {string_value("least"), int_value(INT64_MIN)},
                                   {string_value("most"), uint_value(UINT64_MAX)},
                                   {string_value("s"), string_value("text")}});
  EXPECT_EQ(metadata_of(file),
            "t=bool:true;f=bool:false;i=int:-5;least=int:-9223372036854775808;most=uint:18446744073709551615;"
            "s=string:text;");
}

TEST(Header, KeysMayRepeatAndContainAnyBytes) {
  const std::string odd("../\0\n\xff", 6);
  const std::string file = header({{string_value("k"), string_value("1")},
                                   {string_value("k"), string_value("2")},
                                   {string_value(""), string_value(odd)},
                                   {string_value(odd), string_value("")}});
  const auto attributes = open_file(file)->metadata()->attributes({}, nullptr).value();
  ASSERT_EQ(attributes.size(), 4u);
  EXPECT_EQ(attributes[1].value, "2");
  EXPECT_EQ(attributes[2].key, "");
  EXPECT_EQ(attributes[2].value, odd);
  EXPECT_EQ(attributes[3].key, odd);
}

TEST(Header, HeaderMaySpanSeveralChunks) {
  const std::string file = header({{string_value("big"), string_value(text(70000))}}) + body({"a"});
  EXPECT_EQ(open_file(file)->metadata()->attributes({}, nullptr).value().at(0).value, text(70000));
  EXPECT_EQ(read_file(file).chunks.at(1).begin, 98304u);
}

TEST(Header, PairsBeforeAnUnknownTypeAreShownAndTheRestReported) {
  const std::string file =
      header({{string_value("a"), string_value("b")}, {string_value("c"), std::string("\5\0", 2)}}) + body({"x"});
  EXPECT_EQ(metadata_of(file), "a=string:b;");
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.damage, Items{"[0,32768) damage: a value of an unknown type in the header block"});
  EXPECT_EQ(reading.records, Items{"x"});
  EXPECT_EQ(fact(*open_file(file), "header"), "damaged");
}

TEST(Header, MissingPairsAreReported) {
  const std::string item = uint_value(3) + string_value("a") + string_value("b");
  const Reading reading = read_file(block(Magic::kHeader, content_of({item})) + body({"x"}));
  EXPECT_EQ(reading.damage, Items{"[0,32768) damage: the header block ends inside its pairs"});
  EXPECT_EQ(reading.records, Items{"x"});
}

TEST(Header, BytesAfterTheLastPairAreIgnored) {
  const std::string item = uint_value(1) + string_value("a") + string_value("b") + "more";
  const std::string file = block(Magic::kHeader, content_of({item}));
  EXPECT_EQ(metadata_of(file), "a=string:b;");
  EXPECT_TRUE(read_file(file).damage.empty());
}

TEST(Header, StringLengthBeyondTheBlockIsReported) {
  const std::string item = uint_value(1) + "\4" + uint_value(std::uint64_t{1} << 60) + "abc";
  EXPECT_EQ(read_file(block(Magic::kHeader, content_of({item}))).damage.size(), 1u);
}

TEST(Header, MetadataBeyondTheLimitIsRefusedButRecordsAreRead) {
  Limits limits;
  limits.metadata_bytes = 100;
  const auto container = open_file(header({{string_value("a"), string_value(text(200))}}) + body({"x"}), limits);
  EXPECT_EQ(container->metadata()->attributes({}, nullptr).error().code, Code::kLimit);
  EXPECT_EQ(read_all(*container).records, Items{"x"});
}

TEST(Header, MoreKeysThanTheLimitAreRefusedButRecordsAreRead) {
  Limits limits;
  limits.metadata_values = 2;
  std::vector<Pair> pairs(3, Pair{string_value("a"), string_value("b")});
  EXPECT_EQ(open_file(header({pairs[0], pairs[1]}), limits)->metadata()->attributes({}, nullptr).value().size(), 2u);
  const auto container = open_file(header(pairs) + body({"x"}), limits);
  EXPECT_EQ(container->metadata()->attributes({}, nullptr).error().detail, "more than 2 keys in the header block");
  EXPECT_EQ(read_all(*container).records, Items{"x"});
}

TEST(Header, HeaderBlockBeyondTheLimitIsReportedAndNotRead) {
  Limits limits;
  limits.stored_chunk = 40000;
  const auto container = open_file(header({{string_value("a"), string_value(text(50000))}}) + body({"x"}), limits);
  EXPECT_EQ(container->metadata()->attributes({}, nullptr).error().code, Code::kLimit);
  const Reading reading = read_all(*container);
  ASSERT_EQ(reading.damage.size(), 1u);
  EXPECT_TRUE(reading.damage[0].starts_with("[0,65536) unsupported: ")) << reading.damage[0];
  EXPECT_EQ(reading.records, Items{"x"});
}

TEST(Header, LostHeaderLeavesTheBlocksReadableByTrial) {
  std::string file = header({}) + body({"one", "two"});
  file[29] = static_cast<char>(file[29] ^ 1);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.damage, Items{"[0,32768) damage: the checksum of a chunk does not match"});
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
  EXPECT_EQ(reading.chunks.at(0).codec, "-");
}

TEST(Header, FileMayBeginWithoutAHeader) {
  const Reading reading = read_file(body({"one"}) + body({"two"}));
  EXPECT_EQ(reading.damage, Items{"[0,28) damage: no header block: the transformers are not known"});
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
}

TEST(Header, SecondHeaderInTheMiddleIsReported) {
  const Reading reading = read_file(header({}) + body({"one"}) + header({}) + body({"two"}));
  EXPECT_EQ(reading.damage,
            Items{"[65536,98304) damage: another header block: what follows is read as the first one says"});
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
}

}  // namespace
}  // namespace recordfs::recordio
