#include "core/store/chunk_places.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "core/store/scanner.h"

namespace recordfs::testing {
namespace {

constexpr std::array kEachKey = {SearchKey::kChunks, SearchKey::kRecords, SearchKey::kBytes,
                                 SearchKey::kLines,  SearchKey::kRows,    SearchKey::kPosition};

// Returns consecutive chunks of `size` bytes. Every 10th follows damage, every 7th has no records.
IndexedChunks chunks_of(std::uint64_t count, std::uint64_t size) {
  IndexedChunks all;
  PrefixSums before;
  for (std::uint64_t i = 0; i < count; ++i) {
    IndexedChunk indexed;
    if (i % 10 == 3) before.position += 5;  // of a step of its own
    indexed.before = before;
    ChunkInfo& chunk = indexed.chunk;
    chunk.begin = before.position + (i % 10 == 6 ? 11 : 0);
    chunk.end = chunk.begin + size;
    chunk.key = {chunk.begin, i % 4};
    chunk.kind = ChunkKind("kind");
    chunk.codec = "none";
    chunk.records = i % 7 == 0 ? 0 : 3;
    chunk.decoded_size = *chunk.records * 5;
    all.push_back(indexed);
    before = indexed.after();
  }
  return all;
}

ChunkPlaces places_of(const IndexedChunks& chunks) {
  ChunkPlaces places;
  for (const IndexedChunk& indexed : chunks) {
    places.make_room();
    places.add(indexed);
  }
  return places;
}

void expect_found(const ChunkPlaces& places, const IndexedChunks& chunks) {
  for (const SearchKey search_key : kEachKey) {
    for (std::size_t i = 0; i + 1 < chunks.size(); ++i) {
      const std::uint64_t value = chunks[i].before.at(search_key);
      const auto found = places.interval(search_key, value);
      ASSERT_TRUE(found) << i;
      const auto wanted = search(chunks, search_key, value);
      if (!wanted) continue;
      const std::size_t number = wanted->before.chunks;
      EXPECT_LE(found->from.before.chunks, number);
      EXPECT_GT(found->until.chunks, number);
      const IndexedChunk& first = chunks[found->from.before.chunks];
      const IndexedChunk& last = chunks[found->until.chunks - 1];
      EXPECT_EQ(found->from.key, first.chunk.key);
      for (const SearchKey each : kEachKey) {
        EXPECT_EQ(found->from.before.at(each), first.before.at(each));
        EXPECT_EQ(found->until.at(each), last.after().at(each));
      }
      const std::uint64_t bytes = last.chunk.end - first.chunk.begin;
      EXPECT_TRUE(bytes <= ChunkPlaces::kMostOfInterval || first.before.chunks == last.before.chunks);
    }
  }
}

TEST(ChunkPlaces, EachChunkIsFoundInAnIntervalOfFewBytes) {
  for (const std::uint64_t size : {1u, 1000u, 100'000u, 300'000u}) {
    const IndexedChunks chunks = chunks_of(500, size);
    expect_found(places_of(chunks), chunks);
  }
}

TEST(ChunkPlaces, IntervalsDoNotDependOnTheValueThatIsLookedFor) {
  const ChunkPlaces places = places_of(chunks_of(200, 100'000));
  std::uint64_t end = 0;
  for (std::uint64_t number = 0; number < 199; ++number) {
    const auto found = places.interval(SearchKey::kChunks, number).value();
    if (number >= end) {
      EXPECT_EQ(found.from.before.chunks, end);
    }
    end = found.until.chunks;
  }
}

TEST(ChunkPlaces, WhatFollowsTheLastPlaceIsNotFound) {
  const IndexedChunks chunks = chunks_of(100, 1000);
  const ChunkPlaces places = places_of(chunks);
  const PrefixSums end = chunks.back().after();
  for (const SearchKey search_key : kEachKey) {
    EXPECT_TRUE(places.interval(search_key, end.at(search_key) - 1));
    EXPECT_FALSE(places.interval(search_key, end.at(search_key)));
  }
  EXPECT_FALSE(ChunkPlaces().interval(SearchKey::kRecords, 0));
}

TEST(ChunkPlaces, ParsedBytesAreTheSamePlaces) {
  const IndexedChunks chunks = chunks_of(300, 1000);
  const ChunkPlaces places = places_of(chunks);
  const PrefixSums totals = chunks.back().after();
  const auto parsed = ChunkPlaces::parse(places.bytes(), places.chunks(), totals, {}, totals.position);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->chunks(), 300u);
  expect_found(*parsed, chunks);
  EXPECT_LE(places.bytes().size(), 300u * 12);
}

TEST(ChunkPlaces, TruncatedPlacesCanBeContinued) {
  const IndexedChunks chunks = chunks_of(300, 1000);
  for (const std::size_t left : {0u, 1u, 63u, 64u, 65u, 128u, 299u, 300u}) {
    ChunkPlaces places = places_of(chunks);
    places.truncate(left);
    EXPECT_EQ(places.chunks(), left);
    for (std::size_t i = left; i < chunks.size(); ++i) {
      places.make_room();
      places.add(chunks[i]);
    }
    EXPECT_EQ(places.chunks(), 300u);
    EXPECT_EQ(places.bytes(), places_of(chunks).bytes());
    expect_found(places, chunks);
  }
}

TEST(ChunkPlaces, ChunksOutOfFileOrderEndThePlaces) {
  IndexedChunks chunks = chunks_of(10, 1000);
  chunks[5].chunk.begin = chunks[5].chunk.key.position = 0;
  EXPECT_EQ(places_of(chunks).chunks(), 5u);
  chunks = chunks_of(10, 1000);
  chunks.erase(chunks.begin() + 4);
  EXPECT_EQ(places_of(chunks).chunks(), 4u);
}

TEST(ChunkPlaces, MemoryIsBounded) {
  const IndexedChunks few = chunks_of(2, 1000);
  ChunkPlaces places;
  PrefixSums before;
  for (std::size_t i = 0; i < 2'000'000; ++i) {
    IndexedChunk indexed = few[1];
    indexed.before = before;
    indexed.chunk.key.position = indexed.chunk.begin = before.position;
    indexed.chunk.end = before.position + 1000;
    before = indexed.after();
    places.make_room();
    places.add(indexed);
  }
  EXPECT_LE(places.bytes().size(), ChunkPlaces::kMostBytes);
  EXPECT_LT(places.chunks(), 2'000'000u);
  EXPECT_TRUE(places.interval(SearchKey::kChunks, places.chunks() - 1));
  EXPECT_FALSE(places.interval(SearchKey::kChunks, places.chunks()));
}

}  // namespace
}  // namespace recordfs::testing
