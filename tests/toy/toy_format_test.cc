#include "tests/toy/toy_format.h"

#include <gtest/gtest.h>

namespace recordfs::toy {
namespace {

struct Seen {
  std::vector<std::string> records;  // "!" and the reason for an unreadable one
  std::vector<std::string> damage;
  std::vector<std::string> refused;  // chunks that decode fails on
};

std::string text_of(const Chunk& chunk, std::uint64_t index) {
  if (const Error* failure = chunk.layout().failure(index)) return "!" + failure->detail;
  const Extent extent = chunk.layout().extent(index);
  return std::string(as_text(chunk.read({}, extent.begin, extent.size).value().bytes));
}

void read_chunk(const Container& container, const ChunkInfo& info, Seen& seen) {
  auto chunk = container.decode({}, info);
  if (!chunk) {
    seen.refused.push_back(chunk.error().detail);
    return;
  }
  for (std::uint64_t i = 0; i < (*chunk)->layout().records(); ++i) seen.records.push_back(text_of(**chunk, i));
}

Seen read_all(const Container& container) {
  Seen seen;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    const Step step = container.scan({}, *at).value();
    for (const DamagedRegion& region : step.damage) seen.damage.push_back(region.reason);
    if (step.chunk) read_chunk(container, *step.chunk, seen);
    at = step.next;
  }
  return seen;
}

std::unique_ptr<Container> opened(std::string_view bytes, std::shared_ptr<Watch> watch = nullptr) {
  return open(source_of(bytes), Limits{}, std::move(watch)).value();
}

using Records = std::vector<std::string>;

TEST(ToyFormat, UndamagedFileYieldsAllRecordsSeekableOrNot) {
  for (const bool seekable : {true, false}) {
    const File file = make_file({.chunks = 5, .seekable = seekable});
    const auto container = opened(file.bytes);
    EXPECT_EQ(read_all(*container).records, file.records);
    EXPECT_EQ(read_all(*container).damage, Records{});
    EXPECT_EQ(container->traits().has_seek_structure, seekable);
  }
}

TEST(ToyFormat, BrokenHeaderLosesOnlyItsChunk) {
  for (const bool seekable : {true, false}) {
    const File file = make_file({.seekable = seekable, .broken_headers = {1}});
    Records rest = file.records;
    rest.erase(rest.begin() + 3, rest.begin() + 6);
    const Seen seen = read_all(*opened(file.bytes));
    EXPECT_EQ(seen.records, rest);
    EXPECT_EQ(seen.damage, Records{"chunk header check mismatch"});
  }
}

TEST(ToyFormat, BrokenPayloadAndUnsupportedCodecAreRefusedByDecode) {
  const File file = make_file({.broken_payloads = {0}, .unsupported = {2}});
  const Seen seen = read_all(*opened(file.bytes));
  EXPECT_EQ(seen.refused, (Records{"payload check mismatch", "a codec of the future"}));
  EXPECT_EQ(seen.records.size(), file.records.size() - 6);
}

TEST(ToyFormat, UnreadableRecordKeepsItsOrdinalAndSize) {
  const File file = make_file({.chunks = 1, .unreadable_records = {1}});
  const auto container = opened(file.bytes);
  const ChunkInfo info = *container->scan({}, container->traits().first).value().chunk;
  const Layout layout = container->layout({}, info).value();
  EXPECT_EQ(layout.failure(0), nullptr);
  ASSERT_NE(layout.failure(1), nullptr);
  EXPECT_EQ(layout.extent(1).size, file.records[1].size());
  EXPECT_EQ(layout.total(), *info.decoded_size);
}

TEST(ToyFormat, TruncatedFileIsUnfinished) {
  const File file = make_file({.seekable = false});
  const auto container = opened(file.bytes.substr(0, file.ends[2] - 1));
  EXPECT_EQ(read_all(*container).damage, Records{"cut off"});
  EXPECT_EQ(read_all(*container).records.size(), 6u);
}

TEST(ToyFormat, CountsStayUnknownUntilLayout) {
  const File file = make_file({.counts_in_header = false, .small_layout = false});
  const auto container = opened(file.bytes);
  const ChunkInfo info = *container->scan({}, container->traits().first).value().chunk;
  EXPECT_FALSE(info.records || info.decoded_size);
  EXPECT_EQ(info.layout_cost, LayoutCost::kDecode);
  EXPECT_EQ(container->layout({}, info).value().records(), 3u);
}

TEST(ToyFormat, LocateFindsTheChunkAndNothingBetween) {
  const File file = make_file({});
  const auto container = opened(file.bytes);
  EXPECT_EQ(container->locate({}, file.begins[2]).value()->begin, file.begins[2]);
  EXPECT_EQ(container->locate({}, file.ends[2] - 1).value()->begin, file.begins[2]);
  EXPECT_FALSE(container->locate({}, file.ends[2]).value());
  EXPECT_FALSE(container->locate({}, 0).value());
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

TEST(ToyFormat, PartsGiveTheSameBytesAsDecode) {
  const File file = make_file({.chunks = 1, .by_parts = true});
  const auto container = opened(file.bytes);
  const ChunkInfo info = *container->scan({}, container->traits().first).value().chunk;
  const auto parts = container->open_in_place({}, info).value();
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ(text_of(*parts, 2), file.records[2]);
  EXPECT_LT(parts->memory(), 1000u);
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

TEST(ToyFormat, OtherBytesAreRefused) {
  EXPECT_EQ(open(source_of("toyfile\nbut no more"), Limits{}).error().code, Code::kNoContainer);
  EXPECT_EQ(kFormat.probe({}, *source_of("hello"), "hello.toy", ProbeDepth::kSearch).value(), 0);
  EXPECT_EQ(kFormat.probe({}, *source_of(""), "empty.toy", ProbeDepth::kHead).value(), 1);
}

}  // namespace
}  // namespace recordfs::toy
