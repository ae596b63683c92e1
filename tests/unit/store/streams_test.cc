// Streams of RecordStore: every offset with every length, compared with a string built from the records.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

// The expected content of a stream: its bytes, and which of them must not be returned.
struct Expected {
  std::string bytes;
  std::vector<bool> lost;

  void add(std::string_view text, bool is_lost) {
    bytes += text;
    lost.resize(bytes.size(), is_lost);
  }
  bool is_lost(std::size_t begin, std::size_t end) const {
    const auto at = lost.begin();
    return std::any_of(at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end),
                       [](bool one) { return one; });
  }
};

std::string read_or_error(const RecordStore& store, Stream stream, std::uint64_t offset, std::uint64_t length) {
  const auto slice = waited([&] { return store.streams().read({}, stream, offset, length); });
  return slice ? text_of(*slice) : "error: " + std::string(to_string(slice.error().code));
}

void expect_stream(const RecordStore& store, Stream stream, const Expected& expected) {
  const auto size = waited([&] { return store.streams().size(stream); });
  ASSERT_EQ(size.value(), expected.bytes.size());
  for (std::size_t offset = 0; offset <= expected.bytes.size() + 1; ++offset) {
    for (std::size_t length = 0; length <= expected.bytes.size() + 2 - offset; ++length) {
      const std::string got = read_or_error(store, stream, offset, length);
      const std::size_t begin = std::min(offset, expected.bytes.size());
      const std::size_t end = std::min(offset + length, expected.bytes.size());
      const std::string wanted =
          expected.is_lost(begin, end) ? "error: damage" : expected.bytes.substr(begin, end - begin);
      ASSERT_EQ(got, wanted) << "at " << offset << ", length " << length;
    }
  }
}

std::size_t small_sizes(std::uint64_t ordinal) { return ordinal % 5 == 0 ? 0 : ordinal % 4 + 1; }

toy::Shape small_shape() { return {.chunks = 4, .records_per_chunk = 4, .record_size = small_sizes}; }

Expected joined(const toy::File& file, bool lines, const std::set<std::uint64_t>& lost = {}) {
  Expected expected;
  for (std::size_t i = 0; i < file.records.size(); ++i) {
    expected.add(file.records[i], lost.contains(i));
    if (lines) expected.add("\n", lost.contains(i) && file.records[i].empty());
  }
  return expected;
}

TEST(Streams, ContainAllRecordsAtEveryOffsetAndLength) {
  for (const bool seekable : {true, false}) {
    toy::Shape shape = small_shape();
    shape.seekable = seekable;
    const ToyStore toy(shape);
    expect_stream(*toy.store, Stream::kConcat, joined(toy.file, false));
    expect_stream(*toy.store, Stream::kLines, joined(toy.file, true));
  }
}

TEST(Streams, ContainAllRecordsWithATooSmallCache) {
  toy::Shape shape = small_shape();
  shape.by_parts = true;
  const ToyStore toy(shape, {.anchors = 2, .chunks_per_anchor = 1, .cached_chunks = 1}, 0);
  expect_stream(*toy.store, Stream::kConcat, joined(toy.file, false));
  expect_stream(*toy.store, Stream::kLines, joined(toy.file, true));
}

TEST(Streams, UnreadableRecordIsAnErrorOnlyAtItsOffset) {
  toy::Shape shape = small_shape();
  shape.unreadable_records = {1, 7, 11};
  const ToyStore toy(shape);
  expect_stream(*toy.store, Stream::kConcat, joined(toy.file, false, shape.unreadable_records));
  expect_stream(*toy.store, Stream::kLines, joined(toy.file, true, shape.unreadable_records));
}

TEST(Streams, UnreadableEmptyRecordIsAnErrorAtItsNewline) {
  toy::Shape shape = small_shape();
  shape.unreadable_records = {5};
  const ToyStore toy(shape);
  ASSERT_TRUE(toy.file.records[5].empty());
  expect_stream(*toy.store, Stream::kLines, joined(toy.file, true, shape.unreadable_records));
}

TEST(Streams, UndecodableChunkHasItsDeclaredSize) {
  toy::Shape shape = small_shape();
  shape.broken_payloads = {2};
  const ToyStore toy(shape);
  for (const bool lines : {false, true}) {
    Expected expected;
    for (std::size_t i = 0; i < toy.file.records.size(); ++i) {
      expected.add(toy.file.records[i] + (lines ? "\n" : ""), i / 4 == 2);
    }
    expect_stream(*toy.store, lines ? Stream::kLines : Stream::kConcat, expected);
  }
}

TEST(Streams, UndecodableChunkOfUnknownSizeIsOneByte) {
  toy::Shape shape = small_shape();
  shape.counts_in_header = false;
  shape.broken_payloads = {2};
  const ToyStore toy(shape);
  for (const bool lines : {false, true}) {
    Expected expected;
    for (std::size_t i = 0; i < toy.file.records.size(); ++i) {
      if (i == 8) expected.add("?", true);
      if (i / 4 != 2) expected.add(toy.file.records[i] + (lines ? "\n" : ""), false);
    }
    expect_stream(*toy.store, lines ? Stream::kLines : Stream::kConcat, expected);
  }
}

TEST(Streams, FailureInAStreamIsLoggedOnce) {
  toy::Shape shape = small_shape();
  shape.unreadable_records = {1};
  const ToyStore toy(shape);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_or_error(*toy.store, Stream::kConcat, 0, 4), "error: damage");
    EXPECT_EQ(read_or_error(*toy.store, Stream::kLines, 0, 4), "error: damage");
  }
  ASSERT_EQ(toy.lines.all().size(), 1u);
  EXPECT_NE(toy.lines.all()[0].find("record 1 is marked as unreadable"), std::string::npos);
}

// States only the number of records in its headers; their sizes need layout().
class CountsAlone final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    auto step = ForwardingContainer::scan(context, at);
    if (step && step->chunk) step->chunk->decoded_size.reset();
    return step;
  }
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    auto chunk = ForwardingContainer::locate(context, at);
    if (chunk && *chunk) (*chunk)->decoded_size.reset();
    return chunk;
  }
};

TEST(Streams, SizesMissingInHeadersAreFoundByASecondCatalog) {
  ToyStore toy(small_shape());
  const RecordStore store("toy", toy.source,
                          std::make_unique<CountsAlone>(toy::open(toy.source, Limits{}, toy.watch).value()),
                          toy.services);
  ASSERT_EQ(waited([&] { return store.index().totals(ScanDetail::kCounts); })->records, 16u);
  EXPECT_EQ(toy.watch->layouts, 0u);
  EXPECT_FALSE(store.index().state().sizes_known);
  expect_stream(store, Stream::kConcat, joined(toy.file, false));
  expect_stream(store, Stream::kLines, joined(toy.file, true));
}

std::string rows_of(const Container& container, Position size) {
  std::string rows = chunk_rows_header();
  for (Scanner scanner(container, size, ScanDetail::kCounts); !scanner.at_end();) {
    EXPECT_TRUE(scanner.step({}));
    if (scanner.chunk()) rows += chunk_row(*scanner.chunk());
  }
  return rows;
}

TEST(Rows, FormOneTextAtEveryOffset) {
  for (const bool counts : {true, false}) {
    const ToyStore toy({.chunks = 12, .counts_in_header = counts, .broken_headers = {4}, .broken_payloads = {2}},
                       {.anchors = 2, .chunks_per_anchor = 1, .cached_chunks = 1});
    const std::string rows = rows_of(*toy::open(toy.source, Limits{}).value(), toy.source->size());
    EXPECT_EQ(waited([&] { return toy.store->streams().size(Stream::kChunkRows); }).value(), rows.size());
    for (std::size_t offset = 0; offset <= rows.size(); ++offset) {
      for (const std::size_t length : {0u, 1u, 7u, 60u, 100000u}) {
        const auto slice = waited([&] { return toy.store->streams().read({}, Stream::kChunkRows, offset, length); });
        ASSERT_EQ(text_of(slice.value()), rows.substr(offset, length)) << "at " << offset << ", length " << length;
      }
    }
  }
}

}  // namespace
}  // namespace recordfs::testing
