// The trailer block: found from the end of the file, or reported as missing.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

std::string declaring(const std::string& value = bool_value(true)) {
  return header({{string_value("trailer"), value}});
}

std::string trailer(std::string_view item) { return block(Magic::kTrailer, content_of({std::string(item)})); }

std::string fact(const Container& container) {
  for (const Fact& fact : container.traits().facts) {
    if (fact.name == "trailer") return std::get<std::string>(fact.value);
  }
  return "-";
}

TEST(Trailer, TrailerIsItsItem) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{100000}}) {
    const auto container = open_file(declaring() + body({"a"}) + trailer(text(size)));
    ASSERT_NE(container->trailer(), nullptr);
    EXPECT_EQ(as_text(container->trailer()->operator()({}).value().view()), text(size));
    EXPECT_EQ(fact(*container), "present");
  }
}

TEST(Trailer, DeclaredButMissingTrailerIsDamage) {
  const auto container = open_file(declaring() + body({"a"}));
  ASSERT_NE(container->trailer(), nullptr);
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kDamage);
  EXPECT_EQ(fact(*container), "missing");
}

TEST(Trailer, UndeclaredTrailerIsIgnored) {
  for (const std::string& value : {bool_value(false), string_value("yes")}) {
    const auto container = open_file(declaring(value) + body({"a"}) + trailer("t"));
    EXPECT_EQ(container->trailer(), nullptr);
    EXPECT_EQ(read_all(*container).chunks.at(2).kind.word(), "trailer");
  }
}

TEST(Trailer, FirstDeclarationDecides) {
  const std::string head =
      header({{string_value("trailer"), bool_value(false)}, {string_value("trailer"), bool_value(true)}});
  EXPECT_EQ(open_file(head + trailer("t"))->trailer(), nullptr);
}

TEST(Trailer, TrailerIsFoundBeforeGarbage) {
  const auto container = open_file(declaring() + body({"a"}) + trailer("t") + std::string(1000, 'x'));
  EXPECT_EQ(as_text(container->trailer()->operator()({}).value().view()), "t");
  EXPECT_EQ(read_all(*container).damage, Items{"[98304,99304) damage: no recordio chunk where one should begin"});
}

TEST(Trailer, TrailerIsFoundBeforeLittleGarbageOnly) {
  const std::string file = declaring() + body({"a"}) + trailer("t");
  EXPECT_EQ(fact(*open_file(file + std::string(4 * 32768, 'x'))), "present");
  EXPECT_EQ(fact(*open_file(file + std::string(4 * 32768 + 1, 'x'))), "missing");
}

TEST(Trailer, TrailerIsShownIfTheHeaderIsLost) {
  std::string file = declaring() + body({"a"}) + trailer("t");
  file[3] = 'x';
  const auto container = open_file(file);
  EXPECT_NE(container->trailer(), nullptr);
  EXPECT_EQ(as_text(container->trailer()->operator()({}).value().view()), "t");
}

TEST(Trailer, TruncatedTrailerIsReported) {
  std::string file = declaring() + body({"a"}) + trailer(text(40000));
  file.resize(file.size() - 32768);
  const auto container = open_file(file);
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kUnfinished);
  EXPECT_EQ(read_all(*container).damage,
            Items{"[65536,98304) unfinished: the block has 2 chunks, but the file holds 1"});
}

TEST(Trailer, TrailerBrokenAfterItsFirstChunkIsReported) {
  std::string file = declaring() + body({"a"}) + trailer(text(40000));
  file[98304 + 100] = '\0';
  const auto container = open_file(file);
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kDamage);
  EXPECT_EQ(read_all(*container).damage, Items{"[98304,131072) damage: the checksum of a chunk does not match"});
}

TEST(Trailer, TrailerBeyondTheLimitIsRefused) {
  Limits limits;
  limits.metadata_bytes = 40000;
  const auto container = open_file(declaring() + body({"a"}) + trailer(text(50000)), limits);
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kLimit);
  EXPECT_TRUE(container->trailer()->operator()({}).error().detail.starts_with("the trailer: "));
  EXPECT_EQ(read_all(*container).records, Items{"a"});
}

TEST(Trailer, TrailerMustHoldOneItem) {
  const auto container = open_file(declaring() + block(Magic::kTrailer, content_of({"a", "b"})));
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kDamage);
}

}  // namespace
}  // namespace recordfs::recordio
