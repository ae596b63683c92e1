// The bytes of remote objects.
#include "core/remote/remote_source.h"

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/thrown.h"
#include "tests/unit/remote/remote_object.h"

namespace recordfs::testing {
namespace {

using remote::kBlock;
using remote::kMostPerRead;
using remote::RemoteSource;
using remote::Request;
using remote::RequestKind;
using remote::Session;

TEST(RemoteSource, ReadsEqualTheObject) {
  const std::string bytes = some_bytes(5 * kBlock + 123);
  Setting setting(bytes);
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), bytes.size());
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{kBlock - 1}, std::size_t{kBlock},
                               bytes.size() - 1, bytes.size(), bytes.size() + 5}) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{kBlock + 1}, bytes.size()}) {
      EXPECT_EQ(read(*source, at, size), bytes.substr(std::min(at, bytes.size()), size)) << at << " " << size;
    }
  }
}

TEST(RemoteSource, EmptyObjectHasNoBytes) {
  Setting setting("");
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 0u);
  EXPECT_EQ(read(*source, 0, 10), "");
}

TEST(RemoteSource, FirstBlockNeedsNoRequestOfItsOwn) {
  Setting setting(some_bytes(kBlock * 2));
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  read(*source, 0, kBlock);
  EXPECT_EQ(setting.fake.count(RequestKind::kRead), 0u);
}

TEST(RemoteSource, OpeningRequestsWhatIsReadFirst) {
  const std::string bytes = some_bytes(20 * kBlock + 99);
  const Position last = bytes.size() - 50;
  for (const bool uses_disk : {true, false}) {
    Session::set_options({.uses_disk = uses_disk});
    Setting setting(bytes);
    setting.fake.replace(kName, {.bytes = bytes, .version = "etag:1"});
    const auto source = setting.open({{9 * kBlock + 5, 11 * kBlock - 1}, {last, bytes.size()}, {0, 10}, {1, 5}});
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(setting.fake.requests()[1].begin, 9 * kBlock);
    EXPECT_EQ(setting.fake.requests()[1].size, 2 * kBlock);
    EXPECT_EQ(setting.fake.count(RequestKind::kOpen), uses_disk ? 1u : 3u);
    EXPECT_EQ(read(*source, 9 * kBlock + 5, kBlock), bytes.substr(9 * kBlock + 5, kBlock));
    EXPECT_EQ(setting.fake.count(RequestKind::kRead), 0u);
    EXPECT_EQ(read(*source, 3, 10) + read(*source, last, 50), bytes.substr(3, 10) + bytes.substr(last));
    EXPECT_EQ(setting.fake.count(RequestKind::kRead), uses_disk ? 2u : 0u);
    EXPECT_EQ(read(*source, 0, bytes.size()), bytes);
  }
  Session::set_options({});
}

TEST(RemoteSource, OpeningRequestsTheHeadAndTheOtherExpectedRanges) {
  const std::string bytes = some_bytes(20 * kBlock);
  Session::set_options({.uses_disk = false});
  Setting setting(bytes);
  setting.fake.replace(kName, {.bytes = bytes, .version = "etag:1"});
  const auto source = setting.open({{5, 10}, {kBlock, 4 * kBlock}, {19 * kBlock, 20 * kBlock}});
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(setting.fake.count(RequestKind::kOpen), 3u);
  EXPECT_EQ(read(*source, 0, 4 * kBlock) + read(*source, 19 * kBlock, kBlock),
            bytes.substr(0, 4 * kBlock) + bytes.substr(19 * kBlock));
  EXPECT_EQ(setting.fake.count(RequestKind::kRead), 0u);
  Session::set_options({});
}

TEST(RemoteSource, WrongExpectationsOfAnOpeningChangeNothing) {
  const std::string bytes = some_bytes(8 * kBlock + 99);
  for (const ByteRange range : {ByteRange{8 * kBlock + 98, 40 * kBlock}, ByteRange{9 * kBlock, 10 * kBlock},
                                ByteRange{UINT64_MAX - 5, UINT64_MAX}, ByteRange{6 * kBlock, 5 * kBlock}}) {
    Setting setting(bytes);
    const auto source = setting.open({range});
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(source->size(), bytes.size());
    EXPECT_EQ(read(*source, 0, bytes.size() + 1), bytes);
  }
}

TEST(RemoteSource, RequestsOfAnOpeningThatFindAnotherVersionAreNotUsed) {
  const std::string bytes = some_bytes(8 * kBlock);
  for (const char* const other : {"etag:2", ""}) {
    FakeFetcher* fake = nullptr;
    Session::set_options({.uses_disk = false});
    Setting setting(bytes, [&](const Request& request) {
      const bool is_second = request.kind == RequestKind::kOpen && request.begin == 0;
      if (is_second) fake->replace(kName, {.bytes = std::string(bytes.size(), 'x'), .version = other});
      return true;
    });
    fake = &setting.fake;
    setting.fake.replace(kName, {.bytes = bytes, .version = *other == 0 ? "" : "etag:1"});
    const auto source = setting.open({{6 * kBlock, 7 * kBlock}, {0, 10}});
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(read(*source, 6 * kBlock, kBlock), bytes.substr(6 * kBlock, kBlock));
    EXPECT_EQ(setting.fake.count(RequestKind::kRead), 0u);
    read(*source, 0, 10);
    EXPECT_EQ(setting.fake.count(RequestKind::kRead), 1u) << other;
  }
  Session::set_options({});
}

TEST(RemoteSource, AdjacentBlocksAreOneRequest) {
  Setting setting(some_bytes(40 * kBlock));
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  read(*source, 4 * kBlock + 1, 3 * kBlock);
  const auto requests = setting.fake.requests();
  ASSERT_EQ(setting.fake.count(RequestKind::kRead), 1u);
  EXPECT_EQ(requests.back().begin, 4 * kBlock);
  EXPECT_EQ(requests.back().size, 4 * kBlock);
}

TEST(RemoteSource, LargeReadIsSeveralRequests) {
  const std::string bytes = some_bytes(70 * kBlock);
  Setting setting(bytes);
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(read(*source, 0, bytes.size()), bytes);
  std::uint64_t sum = 2 * kBlock;  // the first ones
  for (const Request& request : setting.fake.requests()) {
    if (request.kind != RequestKind::kRead) continue;
    EXPECT_LE(request.size, kMostPerRead);
    sum += request.size;
  }
  EXPECT_EQ(sum, bytes.size());
}

TEST(RemoteSource, ThreadsThatNeedOneBlockSendOneRequest) {
  const std::string bytes = some_bytes(8 * kBlock);
  std::atomic<bool> is_open{false};
  Setting setting(bytes, [&](const Request& request) {
    while (request.kind == RequestKind::kRead && !is_open) std::this_thread::yield();
    return true;
  });
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  constexpr int kThreads = 8;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { right += read(*source, 5 * kBlock, 1000) == bytes.substr(5 * kBlock, 1000) ? 1 : 0; });
  }
  is_open = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads);
  EXPECT_EQ(setting.fake.count(RequestKind::kRead), 1u);
}

TEST(RemoteSource, MemoryIsBounded) {
  constexpr std::uint64_t kFewBlocks = 4 * kBlock;
  Setting setting(some_bytes(40 * kBlock), {}, kFewBlocks);
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  for (std::uint64_t block = 0; block < 40; ++block) read(*source, block * kBlock, 1);
  EXPECT_LE(source->kept_bytes(0, source->size()), kFewBlocks);
  EXPECT_GT(source->kept_bytes(0, source->size()), 0u);
}

TEST(RemoteSource, ViewInsideABlockIsNoCopy) {
  const std::string bytes = some_bytes(4 * kBlock);
  Setting setting(bytes);
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  const auto one = source->view_at({}, kBlock + 10, 100);
  const auto other = source->view_at({}, kBlock + 10, 100);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->bytes.data(), other->bytes.data());
  EXPECT_EQ(as_text(one->bytes), bytes.substr(kBlock + 10, 100));
  const auto across = source->view_at({}, 2 * kBlock - 10, 100);
  ASSERT_TRUE(across);
  EXPECT_EQ(as_text(across->bytes), bytes.substr(2 * kBlock - 10, 100));
}

TEST(RemoteSource, OnlyThreadsThatMayWaitSendRequests) {
  Setting setting(some_bytes(4 * kBlock));
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  RequestContext::Attempt attempt;
  const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
  const auto refused = read_up_to(quick, *source, 2 * kBlock, 10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPending);
  EXPECT_EQ(attempt.filesystem, remote::kFilesystem);
  EXPECT_EQ(setting.fake.count(RequestKind::kRead), 0u);
  read(*source, 2 * kBlock, 10);
  EXPECT_TRUE(read_up_to(quick, *source, 2 * kBlock, 10));
}

TEST(RemoteSource, ChangeIsRememberedAndFailsAllReads) {
  FakeFetcher* fake = nullptr;
  std::atomic<bool> has_changed{false};
  Setting setting(some_bytes(4 * kBlock), [&](const Request& request) {
    if (request.kind != RequestKind::kRead || !has_changed) return true;
    fake->reply({.id = request.id, .failure = Code::kChanged, .text = "another ETag"});
    return false;
  });
  fake = &setting.fake;
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(source->check_unchanged({}));
  has_changed = true;
  const auto changed = read_up_to({}, *source, 2 * kBlock, 10);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::kChanged);
  has_changed = false;
  const auto first = read_up_to({}, *source, 0, 10);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::kChanged);
  EXPECT_FALSE(source->check_unchanged({}));
}

TEST(RemoteSource, StatesThatCannotBeToldApartShareNoBlocks) {
  Setting setting(std::string(3 * kBlock, 'a'));
  setting.fake.replace(kName, {.bytes = std::string(3 * kBlock, 'a'), .version = "size:1", .is_settled = false});
  const auto before = setting.open();
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(read(*before, 2 * kBlock, 5), "aaaaa");
  setting.fake.replace(kName, {.bytes = std::string(3 * kBlock, 'b'), .version = "size:1", .is_settled = false});
  const auto after = setting.open();
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(read(*after, 2 * kBlock, 5), "bbbbb");
}

TEST(RemoteSource, FewerBytesThanRequestedAreAnError) {
  FakeFetcher* fake = nullptr;
  Setting setting(some_bytes(4 * kBlock), [&](const Request& request) {
    if (request.kind != RequestKind::kRead) return true;
    fake->reply({.id = request.id, .received = request.size - 1});
    return false;
  });
  fake = &setting.fake;
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  const auto got = read_up_to({}, *source, 2 * kBlock, 10);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kIo);
}

TEST(RemoteSource, FailedReadSucceedsTheNextTime) {
  const std::string bytes = some_bytes(4 * kBlock);
  FakeFetcher* fake = nullptr;
  std::atomic<int> failures{1};
  Setting setting(bytes, [&](const Request& request) {
    if (request.kind != RequestKind::kRead || failures-- <= 0) return true;
    fake->reply({.id = request.id, .failure = Code::kIo, .os_error = ETIMEDOUT, .text = "timed out"});
    return false;
  });
  fake = &setting.fake;
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  const auto failed = read_up_to({}, *source, 2 * kBlock, 10);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().os_error, ETIMEDOUT);
  EXPECT_EQ(read(*source, 2 * kBlock, 10), bytes.substr(2 * kBlock, 10));
}

TEST(RemoteSource, CancelledReaderDoesNotFailOthers) {
  const std::string bytes = some_bytes(4 * kBlock);
  std::atomic<bool> cancelled{false};
  std::atomic<bool> is_open{false};
  Setting setting(bytes, [&](const Request& request) {
    while (request.kind == RequestKind::kRead && !is_open) std::this_thread::yield();
    return true;
  });
  const auto source = setting.open();
  ASSERT_NE(source, nullptr);
  std::thread other([&] { EXPECT_EQ(read(*source, 2 * kBlock, 10), bytes.substr(2 * kBlock, 10)); });
  std::thread first([&] {
    const auto got = read_up_to(RequestContext(cancelled), *source, 2 * kBlock, 10);
    EXPECT_TRUE(got || got.error().code == Code::kInterrupted);
  });
  cancelled = true;
  first.join();
  is_open = true;
  other.join();
}

// --- a fetcher that ends

struct TwoFetchers {
  explicit TwoFetchers(FakeObject first_object, FakeObject second_object)
      : first({{kName, std::move(first_object)}},
              [this](const Request& request) {
                if (request.kind != RequestKind::kRead) return true;
                first.die();
                return false;
              }),
        second({{kName, std::move(second_object)}}),
        session(64u << 20, [this](bool is_first) { return is_first ? first.client() : second.client(); }) {}

  FakeFetcher first;
  FakeFetcher second;
  Session session;
};

TEST(RemoteSource, ReadIsRepeatedWithAnotherFetcher) {
  const std::string bytes = some_bytes(4 * kBlock);
  TwoFetchers setting({bytes}, {bytes});
  const auto source = RemoteSource::open({}, setting.session, kName, "x");
  ASSERT_TRUE(source);
  EXPECT_EQ(read(**source, 2 * kBlock, 10), bytes.substr(2 * kBlock, 10));
}

TEST(RemoteSource, AnotherVersionWithAnotherFetcherIsAChange) {
  const std::string bytes = some_bytes(4 * kBlock);
  TwoFetchers setting({bytes, "\"1\""}, {bytes, "\"2\""});
  const auto source = RemoteSource::open({}, setting.session, kName, "x");
  ASSERT_TRUE(source);
  const auto got = read_up_to({}, **source, 2 * kBlock, 10);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kChanged);
}

// --- running out of memory

TEST(RemoteSource, ReaderWithoutMemoryLeavesNothingThatOthersWaitFor) {
  const std::string bytes = some_bytes(20 * kBlock);
  FakeFetcher first({{kName, {bytes}}});
  FakeFetcher second({{kName, {bytes}}});
  int starts = 0;
  Session session(64u << 20, [&](bool) -> Result<std::shared_ptr<remote::Fetcher>> {
    if (++starts == 2) throw std::bad_alloc();
    return starts == 1 ? first.client() : second.client();
  });
  const auto source = RemoteSource::open({}, session, kName, "x");
  ASSERT_TRUE(source);
  first.die();
  static_cast<void>(first.client()->ask({}, {.kind = RequestKind::kStatus, .name = kName}));
  EXPECT_FALSE(has_memory_for([&] { read(**source, 10 * kBlock, kBlock); }));
  EXPECT_EQ(starts, 2);
  EXPECT_TRUE(read(**source, 10 * kBlock, kBlock) == bytes.substr(10 * kBlock, kBlock));
}

TEST(RemoteSource, IdHasNoSpaces) {
  const auto id = RemoteSource::id_of("http://host/a b", "\"1 2\"", true);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->source, "http://host/a%20b");
  EXPECT_EQ(id->version, "\"1%202\"");
  EXPECT_TRUE(id->is_settled);
  EXPECT_FALSE(RemoteSource::id_of("http://host/x", "", true));
}

}  // namespace
}  // namespace recordfs::testing
