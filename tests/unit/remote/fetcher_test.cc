// The client's end of the connection to a fetcher.
#include "core/remote/fetcher.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/remote/fake_fetcher.h"

namespace recordfs::testing {
namespace {

using remote::Arena;
using remote::Fetcher;
using remote::kBlock;
using remote::Reply;
using remote::Request;
using remote::RequestKind;

Request open_of(const std::string& name) { return {.kind = RequestKind::kOpen, .size = kBlock, .name = name}; }

TEST(Fetcher, ReplyHasTheBytesOfTheArena) {
  const std::string bytes = some_bytes(1000);
  FakeFetcher fake({{"http://h/x", {bytes}}});
  std::string got;
  const auto reply = fake.client()->ask({}, open_of("http://h/x"), [&got](Bytes filled) { got = as_text(filled); });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->size, bytes.size());
  EXPECT_EQ(got, bytes);
}

TEST(Fetcher, FailureIsReturnedWithItsTextAndNumber) {
  FakeFetcher fake({});
  const auto reply = fake.client()->ask({}, open_of("http://h/x"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::kIo);
  EXPECT_EQ(reply.error().os_error, ENOENT);
  EXPECT_EQ(reply.error().detail, "404 Not Found");
  EXPECT_FALSE(fake.client()->has_ended());
}

TEST(Fetcher, ThreadsGetTheRepliesToTheirOwnRequests) {
  constexpr int kThreads = 8;
  std::map<std::string, FakeObject> objects;
  for (int i = 0; i < kThreads; ++i)
    objects["o" + std::to_string(i)] = {std::string(static_cast<std::size_t>(100 + i), 'x')};
  FakeFetcher fake(objects);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&fake, &right, i] {
      for (int n = 0; n < 100; ++n) {
        const auto reply = fake.client()->ask({}, open_of("o" + std::to_string(i)));
        if (reply && reply->size == static_cast<std::uint64_t>(100 + i)) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * 100);
}

// --- what a fetcher must not do

void expect_end(const std::function<void(FakeFetcher& fake, const Request& request)>& misbehave) {
  FakeFetcher* self = nullptr;
  FakeFetcher fake({{"x", {"12345"}}}, [&](const Request& request) {
    misbehave(*self, request);
    return false;
  });
  self = &fake;
  const auto reply = fake.client()->ask({}, open_of("x"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::kIo);
  EXPECT_TRUE(fake.client()->has_ended());
  const auto next = fake.client()->ask({}, open_of("x"));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kIo);
}

TEST(Fetcher, ReplyToNoRequestEndsTheConnection) {
  expect_end([](FakeFetcher& fake, const Request& request) { fake.reply({.id = request.id + 7}); });
}

TEST(Fetcher, MoreBytesThanThePartHasEndTheConnection) {
  expect_end(
      [](FakeFetcher& fake, const Request& request) { fake.reply({.id = request.id, .received = request.size + 1}); });
}

TEST(Fetcher, GarbageEndsTheConnection) {
  expect_end([](FakeFetcher& fake, const Request&) { fake.send("garbage"); });
}

TEST(Fetcher, MessageThatIsTooLongEndsTheConnection) {
  expect_end([](FakeFetcher& fake, const Request&) { fake.send(std::string(remote::kMostPerMessage + 100, 'R')); });
}

TEST(Fetcher, DeathFailsTheRequestsInFlight) {
  expect_end([](FakeFetcher& fake, const Request&) { fake.die(); });
}

// --- waiting

TEST(Fetcher, CancelledRequestStopsWaitingAndIsCancelled) {
  std::atomic<bool> cancelled{false};
  FakeFetcher fake({}, [&cancelled](const Request& request) {
    if (request.kind == RequestKind::kOpen) cancelled = true;
    return false;
  });
  const auto reply = fake.client()->ask(RequestContext(cancelled), open_of("x"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::kInterrupted);
  while (fake.count(RequestKind::kCancel) == 0) std::this_thread::yield();
  const auto requests = fake.requests();
  EXPECT_EQ(requests.back().object, requests.front().id);
  EXPECT_FALSE(fake.client()->has_ended());
}

TEST(Fetcher, FetcherThatIsAtWorkIsWaitedFor) {
  using namespace std::chrono_literals;
  FakeFetcher* of_test = nullptr;
  FakeFetcher fake(
      {},
      [&of_test](const Request& request) {
        // Longer in all than the client waits for one message.
        for (int i = 0; i < 20; ++i) {
          std::this_thread::sleep_for(200ms);
          of_test->reply({.id = 0});
        }
        of_test->reply({.id = request.id, .size = 7});
        return false;
      },
      3s);
  of_test = &fake;
  const auto reply = fake.client()->ask({}, open_of("x"));
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->size, 7u);
}

TEST(Fetcher, SilentFetcherIsReported) {
  using namespace std::chrono_literals;
  FakeFetcher fake(
      {}, [](const Request&) { return false; }, 100ms);
  const auto reply = fake.client()->ask({}, open_of("x"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().os_error, ETIMEDOUT);
}

TEST(Fetcher, FullArenaIsReported) {
  FakeFetcher fake({}, [](const Request&) { return false; });
  const Request large{.kind = RequestKind::kRead, .object = 1, .size = remote::kMostPerRead};
  const auto ignore = [](const Result<Reply>&, const Slice&) {};
  for (std::uint64_t at = 0; at < Arena::kSize; at += remote::kMostPerRead) {
    const auto call = fake.client()->send({}, large, ignore, Fetcher::WhenFull::kGiveUp);
    ASSERT_TRUE(call && *call);
  }
  const auto call = fake.client()->send({}, large, ignore, Fetcher::WhenFull::kGiveUp);
  ASSERT_TRUE(call);
  EXPECT_EQ(*call, nullptr);
  std::atomic<bool> cancelled{true};
  const auto waited = fake.client()->send(RequestContext(cancelled), large, ignore);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Code::kInterrupted);
}

TEST(Fetcher, RequestWaitsForRoomInTheArena) {
  const std::string bytes = some_bytes(1000);
  FakeFetcher fake({{"x", {bytes}}});
  const auto opened = fake.client()->ask({}, open_of("x"));
  ASSERT_TRUE(opened);
  const Request large{.kind = RequestKind::kRead, .object = opened->object, .size = remote::kMostPerRead};
  std::atomic<int> replies{0};
  Fetcher::CallPtr last;
  constexpr int kRequests = 100;
  for (int i = 0; i < kRequests; ++i) {
    auto call = fake.client()->send({}, large,
                                    [&replies](const Result<Reply>& reply, const Slice&) { replies += reply ? 1 : 0; });
    ASSERT_TRUE(call);
    last = *call;
  }
  ASSERT_TRUE(fake.client()->wait({}, *last));
  EXPECT_EQ(replies, kRequests);
}

// --- the arena

TEST(Arena, PartsDoNotOverlap) {
  const auto arena = Arena::make();
  ASSERT_TRUE(arena);
  const auto first = (*arena)->take(1);
  const auto second = (*arena)->take(remote::kMostPerRead);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, kBlock);
  (*arena)->give_back(first, 1);
  EXPECT_EQ((*arena)->take(kBlock), 0u);
  EXPECT_EQ((*arena)->take(kBlock), kBlock + remote::kMostPerRead);
}

}  // namespace
}  // namespace recordfs::testing
