// Which chunks are read together, and which alone.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/packing.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

constexpr Position kFirst = kChunkSize;  // where the chunk after the header begins

std::string stored_body(std::string_view stored, std::size_t largest = kLargestPayload) {
  return block(Magic::kBody, stored, largest);
}

struct Together {
  ChunkRun planned;
  std::uint64_t chunks = 0;
  Items records{};
  bool operator==(const Items& items) const { return records == items; }
};

// Reads a run of the file's bytes [at, end).
Together together(const Container& container, std::string_view file, ChunkKey at, Position end) {
  const Slice window{as_bytes(file.substr(at.position, end - at.position)), {}};
  Together found{.planned = container.bulk()->plan(at, window.bytes)};
  const RecordBatch batch = container.bulk()->read({}, found.planned, window);
  found.chunks = batch.run.chunks;
  for (const Bytes record : batch.records) found.records.emplace_back(as_text(record));
  EXPECT_EQ(batch.run.records, found.records.size());
  return found;
}

Together together(std::string_view file, ChunkKey at = {kFirst, 0}, const Limits& limits = {}) {
  return together(*open_file(file, limits), file, at, file.size());
}

TEST(Bulk, ChunksUpToTheTrailerAreReadTogether) {
  const std::string trailer = block(Magic::kTrailer, content_of({"trailer"}));
  const Items large{text(100'000), "", text(20'000, 'b')};
  const auto found = together(header({}) + body({"one", "", "two"}) + body(large) + body({}) + trailer);
  EXPECT_EQ(found.chunks, 3u);
  EXPECT_EQ(found.records, (Items{"one", "", "two", large[0], "", large[2]}));
}

TEST(Bulk, LastChunkOfTheFileIsReadTogether) {
  EXPECT_EQ(together(header({}) + body({"one"}) + body({"two"})), (Items{"one", "two"}));
}

TEST(Bulk, ChunkIsReadAloneIfTheWindowEndsBeforeTheNextHeader) {
  const std::string file = header({}) + body({"one"}) + body({"two"}) + body({"three"});
  const auto container = open_file(file);
  EXPECT_EQ(together(*container, file, {kFirst, 0}, 3 * kChunkSize), (Items{"one"}));
  EXPECT_EQ(together(*container, file, {kFirst, 0}, 3 * kChunkSize + 28), (Items{"one", "two"}));
  EXPECT_EQ(together(*container, file, {kFirst, 0}, 2 * kChunkSize - 1), Items{});
}

TEST(Bulk, PaddingThatIsCutShortIsNotSkipped) {
  std::string file = header({}) + body({"one"}) + body({"two"}) + body({"three"});
  file.erase(2 * kChunkSize - 100, 100);
  EXPECT_EQ(together(file).planned.chunks, 0u);
}

TEST(Bulk, NoRunBeginsElsewhereThanWhereWritersBeginAChunk) {
  const std::string file = body({"one"}) + body({text(50'000)}) + body({"two"});
  EXPECT_EQ(open_file(file)->bulk(), nullptr) << "without a header, chunks are decoded by trial";
  const std::string with_header = header({}) + file;
  EXPECT_EQ(together(with_header, {0, 0}).planned.chunks, 0u);
  EXPECT_EQ(together(with_header, {kFirst, 1}).planned.chunks, 0u);
  EXPECT_EQ(together(with_header, {3 * kChunkSize, 0}).planned.chunks, 0u);
  EXPECT_EQ(together(with_header, {2 * kChunkSize, 0}).planned.chunks, 2u);
}

TEST(Bulk, UnknownTransformerIsNotReadTogether) {
  EXPECT_EQ(open_file(header_with({"rot13"}) + body({"one"}))->bulk(), nullptr);
}

TEST(Bulk, ChangedByteEndsABatchBeforeItsChunk) {
  const std::string file = header({}) + body({"one"}) + body({text(50'000)}) + body({"two"});
  for (const std::size_t at : {8u, 12u, 40u, 32'768u + 16, 32'768u + 40}) {
    std::string changed = file;
    changed[2 * kChunkSize + at] ^= 1;
    EXPECT_EQ(together(changed), (Items{"one"})) << at;
  }
}

TEST(Bulk, PlainChunkWithShortFramesIsReadAlone) {
  const std::string content = content_of({text(50'000)});
  EXPECT_EQ(together(header({}) + body({"one"}) + stored_body(content, 30'000)), (Items{"one"}));
}

TEST(Bulk, ItemsThatDoNotFillTheirChunkEndABatch) {
  for (const std::string& content :
       {content_of({"two"}) + "more", content_of({"two"}).substr(0, 3), std::string("\x02\x01")}) {
    EXPECT_EQ(together(header({}) + body({"one"}) + stored_body(content)), (Items{"one"}));
  }
}

TEST(Bulk, ChunksBeyondTheLimitsAreReadAlone) {
  const std::string file = header({}) + body({"one"}) + body({"two", "three", text(40'000)});
  EXPECT_EQ(together(file, {kFirst, 0}, {.stored_chunk = 40'000}), (Items{"one"}));
  EXPECT_EQ(together(file, {kFirst, 0}, {.decoded_chunk = 40'000}), (Items{"one"}));
  EXPECT_EQ(together(file, {kFirst, 0}, {.records_per_chunk = 2}), (Items{"one"}));
  EXPECT_EQ(together(file).chunks, 2u);
}

TEST(Bulk, TransformedChunksAreReadTogether) {
  const Items items{text(60'000), "", text(50'000, 'x')};
  const std::string content = content_of(items);
  Items twice = items;
  twice.insert(twice.end(), items.begin(), items.end());
  const auto of = [](const std::vector<std::string>& names, const std::string& stored) {
    return together(header_with(names) + stored_body(stored) + stored_body(stored));
  };
  EXPECT_EQ(of({"flate"}, flate(content)), twice);
  EXPECT_EQ(of({"flate"}, flate(content, 0)), twice);
  EXPECT_EQ(of({"flate"}, flate(content) + "ignored"), twice);
  EXPECT_EQ(of({"zstd"}, zstd(content)), twice);
  EXPECT_EQ(of({"zstd"}, zstd(content, {.states_size = false, .has_checksum = true})), twice);
  EXPECT_EQ(of({"zstd"}, zstd(content.substr(0, 9)) + skippable("x") + zstd(content.substr(9))), twice);
  EXPECT_EQ(of({"flate", "zstd"}, zstd(flate(content))), twice);
}

TEST(Bulk, TransformedChunkThatDecodesToOtherContentEndsABatch) {
  const std::string content = content_of({text(60'000)});
  const std::string one = stored_body(zstd(content_of({"one"})));
  const auto after_one = [&](const std::string& stored) {
    return together(header_with({"zstd"}) + one + stored_body(stored));
  };
  EXPECT_EQ(after_one(zstd(content + "more")), (Items{"one"}));
  EXPECT_EQ(after_one(zstd(content) + "more"), (Items{"one"}));
  EXPECT_EQ(after_one(zstd(content).substr(0, 100)), (Items{"one"}));
  EXPECT_EQ(after_one(zstd_claiming(1u << 20)), (Items{"one"}));
}

TEST(Bulk, ContentLargerThanABatchIsReadAlone) {
  const std::string zeros(BulkReader::kMostBytes + 1, '\0');
  const std::string one = content_of({"one"});
  for (const bool states_size : {true, false}) {
    const auto stored = zstd(content_of({zeros}), {.states_size = states_size});
    EXPECT_EQ(together(header_with({"zstd"}) + stored_body(zstd(one)) + stored_body(stored)), (Items{"one"}));
  }
  EXPECT_EQ(together(header_with({"flate"}) + stored_body(flate(one)) + stored_body(flate(content_of({zeros})))),
            (Items{"one"}));
  const std::string half = stored_body(zstd(content_of({zeros.substr(zeros.size() / 2 - 1)})));
  EXPECT_EQ(together(header_with({"zstd"}) + half + half).chunks, 1u);
}

}  // namespace
}  // namespace recordfs::recordio
