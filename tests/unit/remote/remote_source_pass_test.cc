// Readers that go through a remote object.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/remote/remote_source.h"
#include "tests/unit/remote/remote_object.h"

namespace recordfs::testing {
namespace {

using remote::kBlock;
using remote::RemoteSource;
using remote::Request;
using remote::RequestKind;
using remote::Session;

TEST(RemoteSource, ReaderOfAllRequestsEachByteOnce) {
  const std::string bytes = some_bytes(100 * kBlock + 77);
  Setting setting(bytes);
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  source->expect_sequential_reads();
  std::string got;
  constexpr std::size_t kPiece = 384u << 10;
  std::vector<std::byte> piece(kPiece);
  while (got.size() < bytes.size()) {
    const auto size = source->read_next({}, got.size(), piece);
    ASSERT_TRUE(size);
    got += as_text(Bytes(piece).first(*size));
  }
  EXPECT_EQ(got, bytes);
  std::uint64_t sum = 2 * kBlock;
  for (const Request& request : setting.fake.requests()) sum += request.kind == RequestKind::kRead ? request.size : 0;
  EXPECT_EQ(sum, bytes.size());
}

// An object that is larger than the cache: its bytes stay in the arena until the reader has them.
struct LargeObject {
  static constexpr std::uint64_t kMemory = 4u << 20;
  static constexpr std::size_t kPiece = 384u << 10;

  explicit LargeObject(FakeFetcher::Intercept intercept = {}, std::uint64_t memory = kMemory)
      : setting(bytes, std::move(intercept), memory) {}

  // Reads up to `end` as a pass does, after the bytes that were `got`. Returns all that was read.
  std::string pass(const RemoteSource& source, std::size_t end, std::string got = {}) const {
    source.expect_sequential_reads();
    std::vector<std::byte> piece(kPiece);
    while (got.size() < end) {
      const auto size = source.read_next({}, got.size(), piece);
      if (!size) return got + "failed: " + size.error().detail;
      got += as_text(Bytes(piece).first(*size));
    }
    return got;
  }
  std::uint64_t requested() const {
    std::uint64_t sum = 0;
    for (const Request& request : setting.fake.requests()) sum += request.size;
    return sum;
  }

  const std::string bytes = some_bytes(60 * kBlock + 77);
  Setting setting;
};

TEST(RemoteSource, PassOverMoreThanTheCacheRequestsEachByteOnce) {
  LargeObject large;
  const auto source = large.setting.open();
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(large.pass(*source, large.bytes.size()) == large.bytes);
  EXPECT_EQ(large.requested(), large.bytes.size());
}

TEST(RemoteSource, OpeningForAPassRequestsWhatMayBeInFlight) {
  LargeObject large;
  const auto source = large.setting.open({{0, UINT64_MAX}});
  ASSERT_NE(source, nullptr);
  constexpr std::size_t kMiddle = LargeObject::kMemory / 2;
  EXPECT_EQ(read(*source, kMiddle, 1), large.bytes.substr(kMiddle, 1));
  EXPECT_GE(large.requested(), kMiddle);
  EXPECT_TRUE(large.pass(*source, large.bytes.size()) == large.bytes);
  EXPECT_EQ(large.requested(), large.bytes.size());
}

TEST(RemoteSource, ReadsBesideAPassGetItsBytes) {
  LargeObject large;
  const auto source = large.setting.open();
  ASSERT_NE(source, nullptr);
  constexpr std::size_t kHalf = 30 * kBlock;
  const std::string half = large.pass(*source, kHalf);
  for (const std::size_t at : {kHalf - kBlock, kHalf + 10, kHalf + kBlock - 5}) {
    EXPECT_EQ(read(*source, at, 1000), large.bytes.substr(at, 1000)) << at;
    const auto view = source->view_at({}, at, 5);
    ASSERT_TRUE(view);
    EXPECT_EQ(as_text(view->bytes), large.bytes.substr(at, 5)) << at;
  }
  EXPECT_TRUE(large.pass(*source, large.bytes.size(), half) == large.bytes);
  // At the end, when each request has arrived.
  EXPECT_LE(large.requested(), large.bytes.size() + 2 * kBlock);
}

TEST(RemoteSource, PassContinuesWithAnotherFetcher) {
  const std::string bytes = some_bytes(60 * kBlock + 77);
  std::atomic<int> left{12};
  FakeFetcher* fake = nullptr;
  LargeObject large([&](const Request& request) {
    if (request.kind != RequestKind::kRead || --left > 0) return true;
    fake->die();
    return false;
  });
  fake = &large.setting.fake;
  FakeFetcher second({{kName, {bytes}}});
  Session session(LargeObject::kMemory, [&](bool is_first) { return is_first ? fake->client() : second.client(); });
  const auto source = RemoteSource::open({}, session, kName, "x");
  ASSERT_TRUE(source);
  EXPECT_TRUE(large.pass(**source, bytes.size()) == bytes);
  EXPECT_LE(left, 0);
}

TEST(RemoteSource, PassesThatEndEarlyLeaveRoomInTheArena) {
  LargeObject large;
  std::vector<std::shared_ptr<const RemoteSource>> sources;
  for (int i = 0; i < 30; ++i) {
    sources.push_back(large.setting.open());
    ASSERT_NE(sources.back(), nullptr);
    large.pass(*sources.back(), 20 * kBlock);
  }
  EXPECT_TRUE(large.pass(*sources.front(), large.bytes.size()) == large.bytes);
}

TEST(RemoteSource, PassBesidePausedOnesRequestsEachByteOnce) {
  // A pass may request more than the cache holds.
  Session::set_options({.memory_bytes = LargeObject::kMemory});
  LargeObject large({}, 0);
  std::vector<std::shared_ptr<const RemoteSource>> paused;
  for (int i = 0; i < 4; ++i) {
    paused.push_back(large.setting.open());
    ASSERT_NE(paused.back(), nullptr);
    large.pass(*paused.back(), 20 * kBlock);
  }
  large.setting.fake.replace("http://host/y", {large.bytes});
  // Replies come in order: those to earlier requests have arrived before this one.
  const auto take_replies = [&] {
    static_cast<void>(large.setting.fake.client()->ask({}, {.kind = RequestKind::kStatus, .name = kName}));
  };
  take_replies();
  const std::uint64_t before = large.requested();
  const auto source = RemoteSource::open({}, large.setting.session, "http://host/y", "y");
  ASSERT_TRUE(source);
  std::string got;
  while (got.size() < large.bytes.size()) {
    got = large.pass(**source, got.size() + 1, got);
    take_replies();
  }
  EXPECT_TRUE(got == large.bytes);
  EXPECT_EQ(large.requested() - before, large.bytes.size());
  Session::set_options({});
}

}  // namespace
}  // namespace recordfs::testing
