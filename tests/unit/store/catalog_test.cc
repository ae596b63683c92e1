#include "core/store/catalog.h"

#include <array>
#include <future>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr std::array kSearchKeys = {SearchKey::kChunks, SearchKey::kRecords, SearchKey::kBytes,
                                    SearchKey::kLines,  SearchKey::kRows,    SearchKey::kPosition};
constexpr Catalog::Bounds kTiny{.anchors = 4, .chunks_per_anchor = 2, .cached_chunks = 4, .damage_rows = 3};

struct Opened {
  explicit Opened(const toy::Shape& shape)
      : file(toy::make_file(shape)),
        source(std::make_shared<ChangeableSource>(file.bytes)),
        container(toy::open(source, Limits{}, watch).value()) {}

  std::unique_ptr<Catalog> catalog(ScanDetail detail = ScanDetail::kCounts, Catalog::Bounds bounds = {}) const {
    return std::make_unique<Catalog>(*container, *source, detail, bounds);
  }
  std::vector<IndexedChunk> places(ScanDetail detail = ScanDetail::kCounts) const {
    std::vector<IndexedChunk> found;
    for (Scanner scanner(*container, source->size(), detail); !scanner.at_end();) {
      EXPECT_TRUE(scanner.step({}));
      if (scanner.chunk()) found.push_back(*scanner.chunk());
    }
    return found;
  }

  toy::File file;
  std::shared_ptr<ChangeableSource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  std::unique_ptr<Container> container;
};

Result<IndexedChunk> found(Catalog& catalog, SearchKey search_key, std::uint64_t value) {
  return waited([&] { return catalog.find({}, search_key, value); });
}

// Returns the number of the chunk that contains `value`, found by linear search; nullopt if there is none.
std::optional<std::uint64_t> expected(const std::vector<IndexedChunk>& places, SearchKey search_key,
                                      std::uint64_t value) {
  for (const IndexedChunk& indexed : places) {
    const bool holds = search_key == SearchKey::kPosition
                           ? value >= indexed.chunk.begin && value < indexed.chunk.end
                           : value >= indexed.before.at(search_key) && value < indexed.after().at(search_key);
    if (holds) return indexed.before.chunks;
  }
  return std::nullopt;
}

void expect_all_found(const Opened& opened, Catalog& catalog, std::uint64_t stride) {
  const std::vector<IndexedChunk> places = opened.places();
  for (const SearchKey search_key : kSearchKeys) {
    const std::uint64_t end =
        search_key == SearchKey::kPosition ? opened.file.bytes.size() : places.back().after().at(search_key);
    for (std::uint64_t value = 0; value < end + 2; value += stride) {
      const auto indexed = found(catalog, search_key, value);
      const auto wanted = expected(places, search_key, value);
      ASSERT_EQ(indexed.has_value(), wanted.has_value()) << static_cast<int>(search_key) << " at " << value;
      if (wanted) {
        ASSERT_EQ(indexed->before.chunks, *wanted) << static_cast<int>(search_key) << " at " << value;
        ASSERT_EQ(indexed->chunk.begin, places[*wanted].chunk.begin);
        ASSERT_EQ(indexed->before.at(search_key), places[*wanted].before.at(search_key));
      } else {
        ASSERT_EQ(indexed.error().code, Code::kNotFound);
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
  expect_all_found(opened, *opened.catalog(ScanDetail::kCounts, kTiny), 1);
}

TEST(Catalog, FindsChunksIfNoneHasRecords) {
  const Opened opened({.chunks = 7, .records_per_chunk = 0});
  expect_all_found(opened, *opened.catalog(ScanDetail::kCounts, kTiny), 1);
}

TEST(Catalog, FindsChunksAfterDamagedOnes) {
  const Opened opened({.chunks = 12, .broken_headers = {0, 3, 4, 11}});
  expect_all_found(opened, *opened.catalog(ScanDetail::kCounts, kTiny), 1);
}

TEST(Catalog, FindsNothingInAFileWithoutChunks) {
  const Opened opened({.chunks = 0});
  const auto catalog = opened.catalog();
  for (const SearchKey search_key : kSearchKeys) {
    EXPECT_EQ(found(*catalog, search_key, 0).error().code, Code::kNotFound);
  }
  EXPECT_EQ(waited([&] { return catalog->totals(); })->chunks, 0u);
}

TEST(Catalog, FindsAmongThousandsOfChunksWithThinnedAnchors) {
  const Opened opened({.chunks = 3000, .records_per_chunk = 2, .record_size = [](std::uint64_t) { return 3u; }});
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  const std::vector<IndexedChunk> places = opened.places();
  for (const IndexedChunk& indexed : places) {
    for (const SearchKey search_key : kSearchKeys) {
      const std::uint64_t value =
          search_key == SearchKey::kPosition ? indexed.chunk.begin : indexed.before.at(search_key);
      const auto same = found(*catalog, search_key, value);
      ASSERT_TRUE(same);
      ASSERT_EQ(same->chunk.begin, indexed.chunk.begin);
      ASSERT_EQ(same->before.rows, indexed.before.rows);
    }
  }
}

TEST(Catalog, ThinnedAnchorsCauseOneRescanOfFewChunks) {
  const Opened opened({.chunks = 4096, .records_per_chunk = 1, .record_size = [](std::uint64_t) { return 1u; }});
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  ASSERT_TRUE(waited([&] { return catalog->totals(); }));
  const std::uint64_t walked = opened.watch->scans;
  EXPECT_EQ(walked, 4096u);
  ASSERT_TRUE(found(*catalog, SearchKey::kChunks, 10));
  const std::uint64_t again = opened.watch->scans - walked;
  EXPECT_GE(again, 2u);
  EXPECT_LE(again, 64u);  // whatever the distance of anchors
  ASSERT_TRUE(found(*catalog, SearchKey::kRecords, 11));
  EXPECT_EQ(opened.watch->scans, walked + again);
}

TEST(Catalog, LayoutResultsAreNotQueriedAgain) {
  const Opened opened({.chunks = 64, .counts_in_header = false, .broken_payloads = {3}});
  const auto catalog = opened.catalog(ScanDetail::kSizes, kTiny);
  ASSERT_TRUE(waited([&] { return catalog->totals(); }));
  const std::vector<IndexedChunk> places = opened.places(ScanDetail::kSizes);
  const std::uint64_t layouts = opened.watch->layouts;
  for (const IndexedChunk& wanted : places) {
    const auto indexed = found(*catalog, SearchKey::kChunks, wanted.before.chunks);
    ASSERT_TRUE(indexed);
    EXPECT_EQ(indexed->chunk.records, wanted.chunk.records);
    EXPECT_EQ(indexed->chunk.decoded_size, wanted.chunk.decoded_size);
    EXPECT_EQ(indexed->before.bytes, wanted.before.bytes);
  }
  EXPECT_EQ(opened.watch->layouts, layouts);
}

TEST(Catalog, LayoutsBeyondTheCacheAreQueriedAgain) {
  const Opened opened({.chunks = 64, .counts_in_header = false});
  Catalog::Bounds bounds = kTiny;
  bounds.cached_sizes = 20;
  const auto catalog = opened.catalog(ScanDetail::kSizes, bounds);
  ASSERT_TRUE(waited([&] { return catalog->totals(); }));
  EXPECT_EQ(found(*catalog, SearchKey::kChunks, 19)->chunk.records, 3u);
  EXPECT_EQ(found(*catalog, SearchKey::kChunks, 20)->chunk.records, 3u);
  EXPECT_EQ(opened.watch->layouts, 64u + 12u);  // those of the 16 chunks from chunk 16 on
}

TEST(Catalog, OneOfManyThreadsScansARange) {
  const Opened opened({.chunks = 64});
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  ASSERT_TRUE(waited([&] { return catalog->totals(); }));
  // Gives other threads time to arrive during the first one's scan. The outcome must not depend on it.
  opened.watch->on_scan = [](Position) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  std::vector<std::future<bool>> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(
        std::async(std::launch::async, [&] { return found(*catalog, SearchKey::kRecords, 0).has_value(); }));
  }
  for (auto& reader : readers) EXPECT_TRUE(reader.get());
  EXPECT_EQ(opened.watch->scans, 64u + 16u);
}

TEST(Catalog, ChangedRangeIsReportedAsChanged) {
  const Opened opened({.chunks = 64});
  const toy::File other = toy::make_file({.chunks = 64, .broken_headers = {2}});
  ASSERT_EQ(other.bytes.size(), opened.file.bytes.size());
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  ASSERT_TRUE(waited([&] { return catalog->totals(); }));
  opened.source->rewrite(other.bytes);
  EXPECT_EQ(found(*catalog, SearchKey::kRecords, 30).error().code, Code::kChanged);
  opened.source->rewrite(opened.file.bytes);
  EXPECT_EQ(found(*catalog, SearchKey::kRecords, 30)->chunk.begin, opened.file.begins[10]);
}

TEST(Catalog, FindsFromManyThreadsWhileItGrows) {
  const Opened opened({.chunks = 400, .record_size = [](std::uint64_t) { return 2u; }});
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  std::vector<std::future<int>> wrong;
  for (std::uint64_t first = 0; first < 8; ++first) {
    wrong.push_back(std::async(std::launch::async, [&, first] {
      int count = 0;
      for (std::uint64_t ordinal = first; ordinal < 1200; ordinal += 17) {
        const auto indexed = found(*catalog, SearchKey::kRecords, ordinal);
        if (!indexed || indexed->chunk.begin != opened.file.begins[ordinal / 3]) ++count;
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

TEST(Catalog, AdjacentDamageIsOneRow) {
  const Opened opened({.chunks = 10, .broken_headers = {3, 4, 5, 8}});
  const auto catalog = opened.catalog();
  const auto rows = waited([&] { return catalog->damage(); }).value();
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
    Catalog catalog(*opened.container, *opened.source, ScanDetail::kCounts, bounds,
                    [&](const DamageRow& row) { told.push_back(row); });
    const auto rows = waited([&] { return catalog.damage(); }).value();
    ASSERT_EQ(told.size(), rows->size());
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].region.begin, (*rows)[i].region.begin);
      EXPECT_EQ(told[i].region.end, (*rows)[i].region.end);
      EXPECT_EQ(told[i].region.reason, (*rows)[i].region.reason);
    }
  }
}

TEST(Catalog, DamageIsReportedOnlyAfterALaterRecordIsRequested) {
  const Opened opened({.chunks = 9, .broken_headers = {1, 4, 7}});
  const std::vector<Position>& begins = opened.file.begins;
  std::vector<Position> reported;
  Catalog catalog(*opened.container, *opened.source, ScanDetail::kCounts, {.reports_ahead = false},
                  [&](const DamageRow& row) { reported.push_back(row.region.begin); });
  const Signal scanned;
  ASSERT_NE(catalog.wait({&catalog, SearchKey::kChunks, kEverything}, [scanned] { scanned.set(); }), 0u);
  scanned.wait();
  ASSERT_TRUE(catalog.find({}, SearchKey::kRecords, 2));
  EXPECT_TRUE(reported.empty());
  ASSERT_TRUE(waited([&] { return catalog.find({}, SearchKey::kRecords, 3); }));
  EXPECT_EQ(reported, (std::vector<Position>{begins[1]}));
  ASSERT_TRUE(waited([&] { return catalog.find({}, SearchKey::kPosition, begins[5]); }));
  EXPECT_EQ(reported, (std::vector<Position>{begins[1], begins[4]}));
  ASSERT_TRUE(waited([&] { return catalog.totals(); }));
  EXPECT_EQ(reported, (std::vector<Position>{begins[1], begins[4], begins[7]}));
}

TEST(Catalog, DamageBeforeARecordIsReportedWhileTheScanIsElsewhere) {
  const Opened opened({.chunks = 9, .broken_headers = {1, 4, 7}});
  Gate gate;
  gate.close_from(opened.file.begins[3]);
  opened.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  std::vector<Position> reported;
  Catalog catalog(*opened.container, *opened.source, ScanDetail::kCounts, {.reports_ahead = false},
                  [&](const DamageRow& row) { reported.push_back(row.region.begin); });
  EXPECT_TRUE(found(catalog, SearchKey::kRecords, 3));
  EXPECT_EQ(reported, (std::vector<Position>{opened.file.begins[1]}));
  gate.open();
}

TEST(Catalog, CountingReportsNoDamage) {
  const Opened opened({.chunks = 9, .broken_headers = {1, 4, 7}});
  std::vector<Position> reported;
  Catalog catalog(*opened.container, *opened.source, ScanDetail::kCounts, {.reports_ahead = false},
                  [&](const DamageRow& row) { reported.push_back(row.region.begin); });
  const auto counted = waited([&] { return catalog.counted(); });
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->totals.records, 18u);
  EXPECT_EQ(counted->damaged_regions, 3u);
  EXPECT_TRUE(reported.empty());
}

TEST(Catalog, DamageBeyondTheRowLimitIsOneRow) {
  const Opened opened({.chunks = 20, .broken_headers = {1, 3, 5, 7, 9, 11, 13}});
  const auto catalog = opened.catalog(ScanDetail::kCounts, kTiny);
  const auto rows = waited([&] { return catalog->damage(); }).value();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].region.begin, opened.file.begins[3]);
  EXPECT_EQ(rows->back().region.begin, opened.file.begins[5]);
  EXPECT_EQ(rows->back().region.end, opened.file.begins[14]);
  EXPECT_NE(rows->back().region.reason.find("too many"), std::string::npos);
}

TEST(Catalog, ChunkOfUnknownCountIsADamageRow) {
  const Opened opened({.chunks = 4, .counts_in_header = false, .broken_payloads = {1}, .unsupported = {2}});
  const auto catalog = opened.catalog();
  const auto rows = waited([&] { return catalog->damage(); }).value();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].region.begin, opened.file.begins[1]);
  EXPECT_EQ((*rows)[0].region.end, opened.file.ends[1]);
  EXPECT_EQ((*rows)[0].region.reason, "payload check mismatch");
  EXPECT_EQ((*rows)[1].region.damage_class, DamageClass::kUnsupported);
  EXPECT_EQ((*rows)[1].first_ordinal, 3u);
}

}  // namespace
}  // namespace recordfs::testing
