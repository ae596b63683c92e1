#include "core/store/saved_index.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/hash/highway.h"

namespace recordfs::testing {
namespace {

constexpr CatalogBounds kBounds{.anchors = 4, .chunks_per_anchor = 2, .damage_rows = 3, .cached_sizes = 4};
constexpr std::size_t kStrideAt = 16 + 64;  // after magic, version, flags and key
constexpr std::size_t kTotalsAt = kStrideAt + 8;
constexpr std::size_t kCountsAt = kTotalsAt + 40;
constexpr std::size_t kPlacesAt = kCountsAt + 24;
constexpr std::size_t kHeadEnd = kCountsAt + 40;
constexpr std::size_t kAnchorsAt = kHeadEnd + 8;
constexpr std::size_t kRowsAt = kAnchorsAt + 3 * 56;

IndexKey key() { return {7, 13, 8, 9, 77, 10'000, 11, 12}; }

std::string text_with(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

// Six chunks of 200 bytes, with other bytes before the first and the fifth one.
std::string places() {
  const std::string with_records = text_with({0, 0xC8, 1, 10, 100, 20});
  return text_with({1, 64, 0, 0xC8, 1, 10, 100, 20}) + with_records + with_records + with_records +
         text_with({1, 36, 0, 0xC8, 1, 0, 100, 20}) + text_with({0, 0xC8, 1, 0, 100, 20});
}

// 10 chunks with 3 anchors: every fourth chunk is kept.
CatalogSnapshot snapshot() {
  CatalogSnapshot made;
  made.stride = 4;
  made.anchors = {{{64, 0}, {0, 0, 0, 0, 64}}, {{900, 3}, {4, 40, 400, 80, 900}}, {{2000, 0}, {8, 40, 800, 160, 2000}}};
  made.totals = {10, 100, 1000, 200, 9000};
  made.sizes_known = false;
  made.damage = {{{100, 200, DamageClass::kDamage, 2, 5, "some reason"}, 7},
                 {{9000, 10'000, DamageClass::kUnfinished, 0, std::nullopt, ""}, 100}};
  made.cached_sizes = {{10, 100}, {}, {0, CachedSizes::kNothing}};
  made.places = ChunkPlaces::parse(places(), 6, made.totals, made.anchors, 10'000).value();
  return made;
}

void set(std::string& bytes, std::size_t at, std::uint64_t number) {
  for (std::size_t i = 0; i < 8; ++i, number >>= 8) bytes[at + i] = static_cast<char>(number & 0xFF);
}

std::string with_right_checksums(std::string bytes) {
  if (bytes.size() >= kAnchorsAt) set(bytes, kHeadEnd, highway_hash(as_bytes(bytes).first(kHeadEnd)));
  set(bytes, bytes.size() - 8, highway_hash(as_bytes(bytes).first(bytes.size() - 8)));
  return bytes;
}

Result<SavedCatalog> decoded(const std::string& bytes) { return decode_index(as_bytes(bytes), kBounds); }

TEST(IndexFormat, WrittenIndexRoundTrips) {
  const auto saved = decoded(encode_index(key(), snapshot()));
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->key, key());
  EXPECT_EQ(saved->key.touch, 77u);
  const CatalogSnapshot wanted = snapshot();
  const CatalogSnapshot& got = saved->snapshot;
  EXPECT_EQ(got.stride, wanted.stride);
  EXPECT_EQ(got.sizes_known, wanted.sizes_known);
  EXPECT_EQ(got.totals.rows, wanted.totals.rows);
  EXPECT_EQ(got.totals.position, wanted.totals.position);
  ASSERT_EQ(got.anchors.size(), wanted.anchors.size());
  for (std::size_t i = 0; i < got.anchors.size(); ++i) {
    EXPECT_EQ(got.anchors[i].key, wanted.anchors[i].key);
    for (const auto search_key :
         {SearchKey::kChunks, SearchKey::kRecords, SearchKey::kBytes, SearchKey::kRows, SearchKey::kPosition}) {
      EXPECT_EQ(got.anchors[i].before.at(search_key), wanted.anchors[i].before.at(search_key));
    }
  }
  ASSERT_EQ(got.damage.size(), 2u);
  EXPECT_EQ(got.damage[0].region.records_lost, 5u);
  EXPECT_EQ(got.damage[0].region.records_before, 2u);
  EXPECT_EQ(got.damage[0].region.reason, "some reason");
  EXPECT_EQ(got.damage[0].first_ordinal, 7u);
  EXPECT_EQ(got.damage[1].region.records_lost, std::nullopt);
  EXPECT_EQ(got.damage[1].region.damage_class, DamageClass::kUnfinished);
  EXPECT_EQ(got.cached_sizes, wanted.cached_sizes);
  EXPECT_EQ(got.places.chunks(), 6u);
  EXPECT_EQ(got.places.bytes(), places());
}

TEST(IndexFormat, EmptyCatalogRoundTrips) {
  CatalogSnapshot nothing;
  nothing.stride = 2;
  EXPECT_TRUE(decoded(encode_index(key(), nothing)));
}

TEST(IndexFormat, EachChangedByteIsDetected) {
  const std::string bytes = encode_index(key(), snapshot());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ change);
      EXPECT_FALSE(decoded(other)) << i;
    }
  }
}

TEST(IndexFormat, TruncationAndTrailingBytesAreDetected) {
  const std::string bytes = encode_index(key(), snapshot());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decoded(bytes.substr(0, length))) << length;
    if (length >= 8) {
      EXPECT_FALSE(decoded(with_right_checksums(bytes.substr(0, length)))) << length;
    }
  }
  EXPECT_FALSE(decoded(bytes + "x"));
  EXPECT_FALSE(decoded(with_right_checksums(bytes + "x")));
}

TEST(IndexFormat, OtherVersionIsRefused) {
  std::string bytes = encode_index(key(), snapshot());
  bytes[8] = 1;
  EXPECT_EQ(decoded(with_right_checksums(bytes)).error().code, Code::kUnsupported);
}

// Forged numbers with a correct checksum: each in turn is one that no scan produces.
TEST(IndexFormat, ImpossibleNumbersAreRefused) {
  const std::string bytes = encode_index(key(), snapshot());
  struct Lie {
    std::size_t at;
    std::uint64_t number;
  };
  const std::size_t anchor = kAnchorsAt + 56;
  for (const Lie lie : {
           Lie{kStrideAt, 0},
           {kStrideAt, 1},
           {kStrideAt, 2},
           {kStrideAt, 6},
           Lie{kStrideAt, UINT64_MAX},
           {kStrideAt, 1ull << 62},
           {kTotalsAt, 0},
           {kTotalsAt, 8},
           Lie{kTotalsAt, 13},
           {kTotalsAt, UINT64_MAX},
           {kTotalsAt + 8, 39},
           {kTotalsAt + 8, UINT64_MAX},
           Lie{kTotalsAt + 16, 799},
           {kTotalsAt + 24, 159},
           {kTotalsAt + 32, 10'001},
           {kCountsAt, 2},
           Lie{kCountsAt, 4},
           {kCountsAt, UINT64_MAX},
           {kCountsAt + 8, 1},
           {kCountsAt + 8, 3},
           Lie{kCountsAt + 8, 1 << 20},
           {kCountsAt + 8, UINT64_MAX},
           {kCountsAt + 16, 2},
           {kCountsAt + 16, 4},
           {kCountsAt + 16, UINT64_MAX},
           {kPlacesAt, 0},
           Lie{kPlacesAt, 5},
           {kPlacesAt, 7},
           {kPlacesAt, UINT64_MAX},
           {kPlacesAt + 8, 0},
           Lie{kPlacesAt + 8, places().size() - 1},
           {kPlacesAt + 8, UINT64_MAX},
           {anchor, 10'000},
           {anchor, UINT64_MAX},
           Lie{anchor + 16, 3},
           {anchor + 24, 41},
           {anchor + 24, 101},
           {anchor + 32, 801},
           Lie{anchor + 40, 161},
           {anchor + 48, 10'001},
           {kRowsAt, 200},
           {kRowsAt + 8, 100},
           Lie{kRowsAt + 8, 10'001},
           {kRowsAt + 32, 101},
       }) {
    std::string other = bytes;
    set(other, lie.at, lie.number);
    EXPECT_FALSE(decoded(with_right_checksums(other))) << lie.at << ": " << lie.number;
  }
}

TEST(IndexFormat, PlacesThatNoScanFindsAreRefused) {
  const CatalogSnapshot whole = snapshot();
  const auto parsed = [&](const std::string& bytes, std::uint64_t chunks, std::uint64_t size = 10'000) {
    return ChunkPlaces::parse(bytes, chunks, whole.totals, whole.anchors, size);
  };
  EXPECT_TRUE(parsed(places(), 6));
  EXPECT_TRUE(parsed("", 0));
  EXPECT_FALSE(parsed(places(), 6, 1299)) << "the last chunk ends after the file";
  std::string other = places();
  for (std::size_t i = 0; i < other.size(); ++i) {
    EXPECT_FALSE(parsed(places().substr(0, i), 6)) << i;
  }
  other[5] = 11;
  EXPECT_FALSE(parsed(other, 6)) << "the second anchor has one record less";
  other = places();
  other[0] = 4;
  EXPECT_FALSE(parsed(other, 6)) << "an unknown flag";
  EXPECT_FALSE(parsed(text_with({0, 0, 0, 0, 0}), 1)) << "a chunk without bytes";
  EXPECT_FALSE(parsed(text_with({1, 64, 0, 10, 101, 0, 0}), 1)) << "more records than all chunks have";
}

TEST(IndexFormat, ImpossibleRowsAreRefused) {
  for (const auto& spoil : std::vector<std::function<void(DamageRow&)>>{
           [](DamageRow& row) { row.region.damage_class = static_cast<DamageClass>(4); },
           [](DamageRow& row) { row.region.reason = "two\nlines"; },
           [](DamageRow& row) { row.region.end = row.region.begin; },
       }) {
    CatalogSnapshot spoilt = snapshot();
    spoil(spoilt.damage[0]);
    EXPECT_FALSE(decoded(encode_index(key(), spoilt)));
  }
}

TEST(IndexFormat, MoreEntriesThanTheCatalogHoldsAreRefused) {
  CatalogSnapshot large = snapshot();
  for (int i = 0; i < 2; ++i) large.damage.push_back(large.damage.back());
  EXPECT_FALSE(decoded(encode_index(key(), large)));
  const std::string bytes = encode_index(key(), snapshot());
  EXPECT_TRUE(decode_index(as_bytes(bytes), kBounds));
  const CatalogBounds fewer_anchors{.anchors = 2, .chunks_per_anchor = 2, .damage_rows = 3, .cached_sizes = 4};
  EXPECT_FALSE(decode_index(as_bytes(bytes), fewer_anchors));
  const CatalogBounds fewer_cached_sizes{.anchors = 4, .chunks_per_anchor = 2, .damage_rows = 3, .cached_sizes = 2};
  EXPECT_FALSE(decode_index(as_bytes(bytes), fewer_cached_sizes));
}

}  // namespace
}  // namespace recordfs::testing
