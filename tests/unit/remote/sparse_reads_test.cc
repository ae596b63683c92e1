// Which reads request whole blocks.
#include "core/remote/sparse_reads.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/remote/remote_source.h"
#include "tests/unit/remote/fake_fetcher.h"

namespace recordfs::testing {
namespace {

using remote::kBlock;
using remote::RemoteSource;
using remote::Request;
using remote::RequestKind;
using remote::Session;
using remote::SparseReads;

TEST(SparseReads, FewSmallReadsFarApartAreOfWholeBlocks) {
  SparseReads reads;
  EXPECT_FALSE(reads.note(10, true));
  EXPECT_FALSE(reads.note(20, true));
  EXPECT_TRUE(reads.note(30, true));
  EXPECT_TRUE(reads.note(40, true));
}

TEST(SparseReads, ReaderThatGoesOnNearItsLastReadGetsWholeBlocks) {
  SparseReads reads;
  for (std::uint64_t block = 10; block < 200; block += 10) {
    EXPECT_FALSE(reads.note(block, true)) << block;
    EXPECT_FALSE(reads.note(block + block % 20 / 10, true)) << block;
  }
}

TEST(SparseReads, LargeReadAfterASmallOneEndsIt) {
  SparseReads reads;
  for (const std::uint64_t block : {10u, 20u, 30u}) reads.note(block, true);
  EXPECT_FALSE(reads.note(30, false));
  EXPECT_FALSE(reads.note(50, true));
}

TEST(SparseReads, LargeReadsElsewhereChangeNothing) {
  SparseReads reads;
  for (const std::uint64_t block : {10u, 20u, 30u}) reads.note(block, true);
  EXPECT_FALSE(reads.note(1000, false));
  EXPECT_TRUE(reads.note(50, true));
}

// A session with one object.
struct SparseSetting {
  explicit SparseSetting(std::string content)
      : bytes(std::move(content)),
        fake({{"http://host/x", {bytes}}}, {}),
        session(64u << 20, [this](bool) { return fake.client(); }),
        source(*RemoteSource::open({}, session, "http://host/x", "x")) {}

  std::string read(Position at, std::size_t size) const {
    auto got = read_up_to({}, *source, at, size);
    return got ? std::string(as_text(got->view())) : "failed: " + got.error().detail;
  }
  // Reads a few bytes of every fourth block from `block` on.
  void read_headers(std::uint64_t block, int count) const {
    for (int i = 0; i < count; ++i, block += 4) {
      EXPECT_EQ(read(block * kBlock + 100, 12), bytes.substr(block * kBlock + 100, 12)) << block;
    }
  }
  std::vector<std::uint64_t> sizes() const {
    std::vector<std::uint64_t> all;
    for (const Request& request : fake.requests()) {
      if (request.kind == RequestKind::kRead) all.push_back(request.size);
    }
    return all;
  }

  std::string bytes;
  FakeFetcher fake;
  Session session;
  std::shared_ptr<const RemoteSource> source;
};

TEST(RemoteSourcePieces, HeadersFarApartAreSmallRequests) {
  SparseSetting setting(some_bytes(60 * kBlock));
  setting.read_headers(4, 10);
  const auto sizes = setting.sizes();
  ASSERT_EQ(sizes.size(), 10u);
  EXPECT_EQ(std::ranges::count(sizes, kBlock), 2);
  EXPECT_EQ(std::ranges::count(sizes, 4096u), 8);
}

TEST(RemoteSourcePieces, BytesThatAreInMemoryAreNotRequestedAgain) {
  SparseSetting setting(some_bytes(60 * kBlock));
  setting.read_headers(4, 10);
  const auto before = setting.sizes();
  setting.read_headers(4, 10);
  EXPECT_EQ(setting.sizes(), before);
}

TEST(RemoteSourcePieces, BytesAcrossPiecesAreJoined) {
  SparseSetting setting(some_bytes(60 * kBlock + 77));
  setting.read_headers(4, 5);
  const Position at = 40 * kBlock + 4096 * 3 - 5;
  EXPECT_EQ(setting.read(at, 9000), setting.bytes.substr(at, 9000));
  EXPECT_EQ(setting.read(60 * kBlock + 70, 100), setting.bytes.substr(60 * kBlock + 70));
}

TEST(RemoteSourcePieces, ContentAfterAHeaderIsReadInBlocks) {
  SparseSetting setting(some_bytes(60 * kBlock));
  setting.read_headers(4, 5);
  const Position at = 20 * kBlock + 100;
  EXPECT_EQ(setting.read(at, 3 * kBlock), setting.bytes.substr(at, 3 * kBlock));
  EXPECT_EQ(setting.sizes().back(), 4 * kBlock);
}

TEST(RemoteSourcePieces, NeededBytesAreRequestedBeforeTheyAreRead) {
  SparseSetting setting(some_bytes(60 * kBlock));
  for (std::uint64_t block = 8; block < 20; ++block) {
    setting.source->will_need(block * kBlock, block * kBlock + 512);
  }
  for (std::uint64_t block = 8; block < 20; ++block) {
    EXPECT_EQ(setting.read(block * kBlock + 10, 20), setting.bytes.substr(block * kBlock + 10, 20));
  }
  EXPECT_EQ(setting.sizes(), std::vector<std::uint64_t>(12, 4096));
}

TEST(RemoteSourcePieces, NeededBytesInMemoryAreNotRequested) {
  SparseSetting setting(some_bytes(6 * kBlock));
  setting.source->will_need(100, 612);
  setting.source->will_need(6 * kBlock - 100, 7 * kBlock);
  setting.source->will_need(5, 5);
  EXPECT_TRUE(setting.sizes().empty());
}

}  // namespace
}  // namespace recordfs::testing
