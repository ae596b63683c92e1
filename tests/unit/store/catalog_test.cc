#include "core/store/catalog.h"

#include <array>
#include <future>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr std::array kCoordinates = {Coordinate::kChunks, Coordinate::kRecords, Coordinate::kBytes,
                                     Coordinate::kLines,  Coordinate::kRows,    Coordinate::kPosition};
constexpr Catalog::Bounds kTiny{.anchors = 4, .chunks_per_anchor = 2, .kept_places = 4, .damage_rows = 3};

struct Opened {
  explicit Opened(const toy::Shape& shape)
      : file(toy::make_file(shape)),
        source(std::make_shared<MoodySource>(file.bytes)),
        container(toy::open(source, Limits{}, watch).value()) {}

  std::unique_ptr<Catalog> catalog(Depth depth = Depth::kCounts, Catalog::Bounds bounds = {}) const {
    return std::make_unique<Catalog>(*container, *source, depth, bounds);
  }
  std::vector<Place> places(Depth depth = Depth::kCounts) const {
    std::vector<Place> found;
    for (Walk walk(*container, source->size(), depth); !walk.at_end();) {
      EXPECT_TRUE(walk.step());
      if (walk.chunk()) found.push_back(*walk.chunk());
    }
    return found;
  }

  toy::File file;
  std::shared_ptr<MoodySource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  std::unique_ptr<Container> container;
};

Result<Place> found(Catalog& catalog, Coordinate coordinate, std::uint64_t value) {
  return waited([&](Goal& goal) { return catalog.find(coordinate, value, goal); });
}

// Returns the number of the chunk that contains `value`, found by linear search; nullopt if there is none.
std::optional<std::uint64_t> expected(const std::vector<Place>& places, Coordinate coordinate, std::uint64_t value) {
  for (const Place& place : places) {
    const bool holds = coordinate == Coordinate::kPosition
                           ? value >= place.chunk.begin && value < place.chunk.end
                           : value >= place.before.at(coordinate) && value < place.after().at(coordinate);
    if (holds) return place.before.chunks;
  }
  return std::nullopt;
}

void expect_all_found(const Opened& opened, Catalog& catalog, std::uint64_t stride) {
  const std::vector<Place> places = opened.places();
  for (const Coordinate coordinate : kCoordinates) {
    const std::uint64_t end =
        coordinate == Coordinate::kPosition ? opened.file.bytes.size() : places.back().after().at(coordinate);
    for (std::uint64_t value = 0; value < end + 2; value += stride) {
      const auto place = found(catalog, coordinate, value);
      const auto wanted = expected(places, coordinate, value);
      ASSERT_EQ(place.has_value(), wanted.has_value()) << static_cast<int>(coordinate) << " at " << value;
      if (wanted) {
        ASSERT_EQ(place->before.chunks, *wanted) << static_cast<int>(coordinate) << " at " << value;
        ASSERT_EQ(place->chunk.begin, places[*wanted].chunk.begin);
        ASSERT_EQ(place->before.at(coordinate), places[*wanted].before.at(coordinate));
      } else {
        ASSERT_EQ(place.error().code, Code::kNotFound);
      }
    }
  }
}

// Chunks 1, 2 and 7 have damaged payloads and so no records; the records of chunk 4 are empty.
toy::Shape with_empty_chunks() {
  return {.chunks = 9,
          .record_size = [](std::uint64_t ordinal) { return ordinal / 3 == 4 ? 0 : ordinal % 3 * 4; },
          .counts_in_header = false,
          .broken_payloads = {1, 2, 7}};
}

TEST(Catalog, FindsByEveryCoordinateAmongChunksWithoutRecordsOrBytes) {
  for (const bool seekable : {true, false}) {
    toy::Shape shape = with_empty_chunks();
    shape.seekable = seekable;
    const Opened opened(shape);
    expect_all_found(opened, *opened.catalog(), 1);
  }
}

TEST(Catalog, FindsTheSameWithTinyBounds) {
  const Opened opened(with_empty_chunks());
  expect_all_found(opened, *opened.catalog(Depth::kCounts, kTiny), 1);
}

TEST(Catalog, FindsChunksIfNoneHasRecords) {
  const Opened opened({.chunks = 7, .records_per_chunk = 0});
  expect_all_found(opened, *opened.catalog(Depth::kCounts, kTiny), 1);
}

TEST(Catalog, FindsChunksAfterDamagedOnes) {
  const Opened opened({.chunks = 12, .broken_headers = {0, 3, 4, 11}});
  expect_all_found(opened, *opened.catalog(Depth::kCounts, kTiny), 1);
}

TEST(Catalog, FindsNothingInAFileWithoutChunks) {
  const Opened opened({.chunks = 0});
  const auto catalog = opened.catalog();
  for (const Coordinate coordinate : kCoordinates) {
    EXPECT_EQ(found(*catalog, coordinate, 0).error().code, Code::kNotFound);
  }
  EXPECT_EQ(waited([&](Goal& goal) { return catalog->totals(goal); })->chunks, 0u);
}

TEST(Catalog, FindsAmongThousandsOfChunksWithThinnedAnchors) {
  const Opened opened({.chunks = 3000, .records_per_chunk = 2, .record_size = [](std::uint64_t) { return 3u; }});
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  const std::vector<Place> places = opened.places();
  for (const Place& place : places) {
    for (const Coordinate coordinate : kCoordinates) {
      const std::uint64_t value = coordinate == Coordinate::kPosition ? place.chunk.begin : place.before.at(coordinate);
      const auto same = found(*catalog, coordinate, value);
      ASSERT_TRUE(same);
      ASSERT_EQ(same->chunk.begin, place.chunk.begin);
      ASSERT_EQ(same->before.rows, place.before.rows);
    }
  }
}

TEST(Catalog, ThinnedAnchorsCauseOneRescan) {
  const Opened opened({.chunks = 4096, .records_per_chunk = 1, .record_size = [](std::uint64_t) { return 1u; }});
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  ASSERT_TRUE(waited([&](Goal& goal) { return catalog->totals(goal); }));
  const std::uint64_t walked = opened.watch->scans;
  EXPECT_EQ(walked, 4096u);
  ASSERT_TRUE(found(*catalog, Coordinate::kChunks, 10));
  const std::uint64_t again = opened.watch->scans - walked;
  EXPECT_GE(again, 4096u / kTiny.anchors);  // few places are cached
  EXPECT_LE(again, 4096u / kTiny.anchors * 2);
  ASSERT_TRUE(found(*catalog, Coordinate::kRecords, 11));
  EXPECT_EQ(opened.watch->scans, walked + again);
}

TEST(Catalog, LayoutResultsAreNotQueriedAgain) {
  const Opened opened({.chunks = 64, .counts_in_header = false, .broken_payloads = {3}});
  const auto catalog = opened.catalog(Depth::kSizes, kTiny);
  ASSERT_TRUE(waited([&](Goal& goal) { return catalog->totals(goal); }));
  const std::vector<Place> places = opened.places(Depth::kSizes);
  const std::uint64_t layouts = opened.watch->layouts;
  for (const Place& wanted : places) {
    const auto place = found(*catalog, Coordinate::kChunks, wanted.before.chunks);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->chunk.records, wanted.chunk.records);
    EXPECT_EQ(place->chunk.decoded_size, wanted.chunk.decoded_size);
    EXPECT_EQ(place->before.bytes, wanted.before.bytes);
  }
  EXPECT_EQ(opened.watch->layouts, layouts);
}

TEST(Catalog, LayoutsBeyondTheCacheAreQueriedAgain) {
  const Opened opened({.chunks = 64, .counts_in_header = false});
  Catalog::Bounds bounds = kTiny;
  bounds.learnt_chunks = 20;
  const auto catalog = opened.catalog(Depth::kSizes, bounds);
  ASSERT_TRUE(waited([&](Goal& goal) { return catalog->totals(goal); }));
  EXPECT_EQ(found(*catalog, Coordinate::kChunks, 19)->chunk.records, 3u);
  EXPECT_EQ(found(*catalog, Coordinate::kChunks, 20)->chunk.records, 3u);
  EXPECT_EQ(opened.watch->layouts, 64u + 12u);  // those of the 16 chunks from chunk 16 on
}

TEST(Catalog, OneOfManyThreadsScansARange) {
  const Opened opened({.chunks = 64});
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  ASSERT_TRUE(waited([&](Goal& goal) { return catalog->totals(goal); }));
  // Gives other threads time to arrive during the first one's scan. The outcome must not depend on it.
  opened.watch->on_scan = [](Position) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  std::vector<std::future<bool>> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(
        std::async(std::launch::async, [&] { return found(*catalog, Coordinate::kRecords, 0).has_value(); }));
  }
  for (auto& reader : readers) EXPECT_TRUE(reader.get());
  EXPECT_EQ(opened.watch->scans, 64u + 16u);
}

TEST(Catalog, ChangedRangeIsReportedAsChanged) {
  const Opened opened({.chunks = 64});
  const toy::File other = toy::make_file({.chunks = 64, .broken_headers = {2}});
  ASSERT_EQ(other.bytes.size(), opened.file.bytes.size());
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  ASSERT_TRUE(waited([&](Goal& goal) { return catalog->totals(goal); }));
  opened.source->rewrite(other.bytes);
  EXPECT_EQ(found(*catalog, Coordinate::kRecords, 30).error().code, Code::kChanged);
  opened.source->rewrite(opened.file.bytes);
  EXPECT_EQ(found(*catalog, Coordinate::kRecords, 30)->chunk.begin, opened.file.begins[10]);
}

TEST(Catalog, FindsFromManyThreadsWhileItGrows) {
  const Opened opened({.chunks = 400, .record_size = [](std::uint64_t) { return 2u; }});
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  std::vector<std::future<int>> wrong;
  for (std::uint64_t first = 0; first < 8; ++first) {
    wrong.push_back(std::async(std::launch::async, [&, first] {
      int count = 0;
      for (std::uint64_t ordinal = first; ordinal < 1200; ordinal += 17) {
        const auto place = found(*catalog, Coordinate::kRecords, ordinal);
        if (!place || place->chunk.begin != opened.file.begins[ordinal / 3]) ++count;
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

TEST(Catalog, AdjacentDamageIsOneRow) {
  const Opened opened({.chunks = 10, .broken_headers = {3, 4, 5, 8}});
  const auto catalog = opened.catalog();
  const auto rows = waited([&](Goal& goal) { return catalog->damage(goal); }).value();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].region.begin, opened.file.begins[3]);
  EXPECT_EQ((*rows)[0].region.end, opened.file.begins[6]);
  EXPECT_EQ((*rows)[0].first_ordinal, 9u);
  EXPECT_EQ((*rows)[0].region.records_lost, std::nullopt);
  EXPECT_EQ((*rows)[1].first_ordinal, 15u);
}

TEST(Catalog, EachCompleteRowIsReportedOnce) {
  for (const std::size_t damage_rows : {100u, 3u}) {
    const Opened opened({.chunks = 20, .broken_headers = {1, 3, 4, 5, 7, 9, 11, 19}});
    std::vector<DamageRow> told;
    Catalog::Bounds bounds = kTiny;
    bounds.damage_rows = damage_rows;
    Catalog catalog(*opened.container, *opened.source, Depth::kCounts, bounds,
                    [&](const DamageRow& row) { told.push_back(row); });
    const auto rows = waited([&](Goal& goal) { return catalog.damage(goal); }).value();
    ASSERT_EQ(told.size(), rows->size());
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].region.begin, (*rows)[i].region.begin);
      EXPECT_EQ(told[i].region.end, (*rows)[i].region.end);
      EXPECT_EQ(told[i].region.reason, (*rows)[i].region.reason);
    }
  }
}

TEST(Catalog, DamageBeyondTheRowLimitIsOneRow) {
  const Opened opened({.chunks = 20, .broken_headers = {1, 3, 5, 7, 9, 11, 13}});
  const auto catalog = opened.catalog(Depth::kCounts, kTiny);
  const auto rows = waited([&](Goal& goal) { return catalog->damage(goal); }).value();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].region.begin, opened.file.begins[3]);
  EXPECT_EQ(rows->back().region.begin, opened.file.begins[5]);
  EXPECT_EQ(rows->back().region.end, opened.file.begins[14]);
  EXPECT_NE(rows->back().region.reason.find("too many"), std::string::npos);
}

TEST(Catalog, ChunkOfUnknownCountIsADamageRow) {
  const Opened opened({.chunks = 4, .counts_in_header = false, .broken_payloads = {1}, .unsupported = {2}});
  const auto catalog = opened.catalog();
  const auto rows = waited([&](Goal& goal) { return catalog->damage(goal); }).value();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].region.begin, opened.file.begins[1]);
  EXPECT_EQ((*rows)[0].region.end, opened.file.ends[1]);
  EXPECT_EQ((*rows)[0].region.reason, "payload check mismatch");
  EXPECT_EQ((*rows)[1].region.damage_class, DamageClass::kUnsupported);
  EXPECT_EQ((*rows)[1].first_ordinal, 3u);
}

}  // namespace
}  // namespace recordfs::testing
