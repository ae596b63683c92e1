#include "core/hash/highway.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/hash/highway_engine.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

std::vector<const HashEngine*> engines() {
  const HashEngine* engines[kMaxEngines];
  const std::size_t count = supported_engines(engines);
  return {engines, engines + count};
}

std::uint64_t hash_with(const HashEngine& engine, const std::uint64_t (&key)[4], Bytes first, Bytes second) {
  alignas(kHashStateAlignment) std::byte state[kHashStateBytes];
  engine.start(state, key);
  engine.append(state, as_text(first).data(), first.size());
  engine.append(state, as_text(second).data(), second.size());
  return engine.finish(state);
}

template <std::size_t kSize>
std::uint64_t hash_of(const std::array<unsigned char, kSize>& bytes) {
  return riegeli_hash(std::as_bytes(std::span(bytes)));
}

// The first 64 bytes of each Riegeli/records file contain three hashes: of the first block header, of the signature
// chunk's header, and of its data, which is empty.
TEST(RiegeliHash, HashesInTheRiegeliSignatureAreCorrect) {
  EXPECT_EQ(riegeli_hash({}), 0x72c3b1e9c0139fe1u);
  const std::array<unsigned char, 16> block_header = {0, 0, 0, 0, 0, 0, 0, 0, 0x40};
  EXPECT_EQ(hash_of(block_header), 0x3f4a880dd170af83u);
  const std::array<unsigned char, 32> chunk_header = {0,    0,    0,    0,    0,    0,    0,    0,   0xe1,
                                                      0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, 0x73};
  EXPECT_EQ(hash_of(chunk_header), 0xa9e187923cc2ba91u);
}

TEST(RiegeliHasher, EmptyHasherEqualsTheHashOfEmptyInput) {
  RiegeliHasher hasher;
  hasher.append({});
  EXPECT_EQ(hasher.finish(), riegeli_hash({}));
}

TEST(RiegeliHasher, TwoPiecesEqualTheWholeAtEverySplitOfEachLength) {
  for (std::size_t size = 0; size <= 130; ++size) {
    testing::Guarded bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes.span()[i] = static_cast<std::byte>(i * 7 + size);
    const std::uint64_t whole = riegeli_hash(bytes.view());
    for (std::size_t split = 0; split <= size; ++split) {
      RiegeliHasher hasher;
      hasher.append(bytes.view().first(split));
      hasher.append(bytes.view().subspan(split));
      ASSERT_EQ(hasher.finish(), whole) << split << " of " << size;
    }
  }
}

TEST(RiegeliHasher, PiecesOfAnyLengthEqualTheWhole) {
  testing::Guarded bytes(10000);
  for (std::size_t i = 0; i < 10000; ++i) bytes.span()[i] = static_cast<std::byte>(i * i >> 5);
  const std::uint64_t whole = riegeli_hash(bytes.view());
  for (std::size_t step = 1; step < 100; ++step) {
    RiegeliHasher hasher;
    for (Bytes rest = bytes.view(); !rest.empty();) {
      const Bytes piece = rest.first(std::min(step, rest.size()));
      hasher.append(piece);
      rest = rest.subspan(piece.size());
    }
    ASSERT_EQ(hasher.finish(), whole) << step;
  }
}

// The first values of kExpected64 in HighwayHash's own highwayhash_test.cc.
TEST(HashEngine, EachEngineYieldsThePublishedValues) {
  constexpr std::uint64_t kKey[4] = {0x0706050403020100, 0x0F0E0D0C0B0A0908, 0x1716151413121110, 0x1F1E1D1C1B1A1918};
  constexpr std::uint64_t kExpected[] = {0x907A56DE22C26E53, 0x7EAB43AAC7CDDD78, 0xB8D0569AB0B53D62};
  ASSERT_FALSE(engines().empty());
  for (const HashEngine* engine : engines()) {
    const std::array<std::byte, 2> bytes = {std::byte{0}, std::byte{1}};
    for (std::size_t size = 0; size < 3; ++size) {
      EXPECT_EQ(hash_with(*engine, kKey, Bytes(bytes).first(size), {}), kExpected[size]);
    }
  }
}

TEST(HashEngine, AllEnginesAgreeAtEachLengthAndSplit) {
  constexpr std::uint64_t kKey[4] = {1, 2, 3, 4};
  for (std::size_t size = 0; size <= 100; ++size) {
    testing::Guarded bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes.span()[i] = static_cast<std::byte>(255 - i);
    const std::uint64_t expected = hash_with(*engines().back(), kKey, bytes.view(), {});  // of every processor
    for (const HashEngine* engine : engines()) {
      ASSERT_EQ(engine->hash(kKey, as_text(bytes.view()).data(), size), expected);
      for (std::size_t split = 0; split <= size; ++split) {
        ASSERT_EQ(hash_with(*engine, kKey, bytes.view().first(split), bytes.view().subspan(split)), expected);
      }
    }
  }
}

}  // namespace
}  // namespace recordfs
