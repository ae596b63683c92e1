#include "tests/toy/toy_format.h"

#include <gtest/gtest.h>

namespace recordfs::toy {
namespace {

void read_all(const Container& container) {
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    const Step step = container.scan({}, *at).value();
    if (step.chunk) {
      EXPECT_TRUE(container.decode({}, *step.chunk));
    }
    at = step.next;
  }
}

std::unique_ptr<Container> opened(std::string_view bytes, std::shared_ptr<Watch> watch = nullptr) {
  return open(source_of(bytes), Limits{}, std::move(watch)).value();
}

TEST(ToyFormat, WatchIsCalledBeforeEachScanAndDecode) {
  const File file = make_file({});
  const auto watch = std::make_shared<Watch>();
  std::vector<Position> decoded;
  watch->on_decode = [&](Position begin) { decoded.push_back(begin); };
  read_all(*opened(file.bytes, watch));
  EXPECT_EQ(decoded, file.begins);
  EXPECT_EQ(watch->decodes, 4u);
  EXPECT_EQ(watch->scans, 4u);
}

TEST(ToyFormat, AttributesAndTrailerAreThoseOfTheToyShape) {
  const File file = make_file({.attributes = {{"k", "text", "v"}}, .trailer = "the end"});
  const auto container = opened(file.bytes);
  EXPECT_EQ(container->metadata()->attributes({}, nullptr).value().at(0).value, "v");
  EXPECT_EQ(as_text((*container->trailer())({}).value().view()), "the end");
  EXPECT_EQ(opened(make_file({}).bytes)->trailer(), nullptr);
}

TEST(ToyFormat, PartsAreThoseOfTheToyShape) {
  const auto inside = [](std::uint64_t ordinal) {
    return std::vector<PartShape>{{.key = "directory"},
                                  {.key = "slice", .parent = 0, .kind = PartKind::kSlice, .bytes = "abc"},
                                  {.key = "text", .kind = PartKind::kText, .bytes = std::to_string(ordinal)}};
  };
  const File file = make_file({.chunks = 1, .parts = inside, .broken_parts = {1}});
  const auto container = opened(file.bytes);
  ASSERT_EQ(container->schema().parts, RecordSchema::Parts::kRequired);
  const auto value_in = [](const Container& toy, const std::string& record) {
    return toy.schema().value(as_bytes(record), ValueForm::kParts);
  };
  const Parts parts = parts_in(value_in(*container, file.records[2]).value(), as_bytes(file.records[2]));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].key, "directory");
  EXPECT_EQ(parts[1].parent, 0u);
  EXPECT_EQ(file.records[2].substr(parts[1].extent.begin, parts[1].extent.size), "abc");
  EXPECT_EQ(parts[2].text, "2\n");
  EXPECT_EQ(value_in(*container, file.records[1]).error().code, Code::kDamage);
  const auto strict = open(source_of(file.bytes), {.parts_per_record = 2}).value();
  EXPECT_EQ(value_in(*strict, file.records[2]).error().code, Code::kLimit);
  EXPECT_EQ(opened(make_file({}).bytes)->schema().parts, RecordSchema::Parts::kNone);
}

}  // namespace
}  // namespace recordfs::toy
