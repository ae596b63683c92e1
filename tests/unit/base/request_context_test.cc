#include "core/base/request_context.h"

#include <atomic>
#include <future>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/buffer.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/large_allocation.h"
#include "core/base/source.h"

namespace recordfs {
namespace {

TEST(RequestContext, ThreadWithoutAContextMayBlock) {
  EXPECT_TRUE(RequestContext::permit_slow_work());
  EXPECT_TRUE(RequestContext::spend(UINT64_MAX));
  EXPECT_FALSE(RequestContext::is_non_blocking() || RequestContext::was_refused() || RequestContext::cancelled());
}

TEST(RequestContext, NonBlockingIsRefusedOnceItsCostsAddUpToSlow) {
  const RequestContext quick(RequestContext::Work::kNonBlocking);
  EXPECT_TRUE(RequestContext::spend(RequestContext::kSlow / 2));
  EXPECT_TRUE(RequestContext::spend(RequestContext::kSlow / 2 - 1));
  EXPECT_FALSE(RequestContext::was_refused());
  EXPECT_EQ(RequestContext::spend(1).error().code, Code::kPending);
  EXPECT_TRUE(RequestContext::was_refused());
}

TEST(RequestContext, MayBlockIsRefusedOnlySlowWork) {
  const RequestContext context(RequestContext::Work::kMayBlock);
  EXPECT_TRUE(RequestContext::permit_wait_for(7));
  EXPECT_FALSE(RequestContext::was_refused());
  EXPECT_EQ(RequestContext::permit_slow_work().error().code, Code::kPending);
  EXPECT_EQ(RequestContext::refused(), RequestContext::Work::kAny);
  EXPECT_EQ(RequestContext::filesystem(), 7u);
}

TEST(RequestContext, NonBlockingIsRefusedAFilesystemThatMayHang) {
  const RequestContext quick(RequestContext::Work::kNonBlocking);
  EXPECT_TRUE(RequestContext::permit_wait_for(0));
  EXPECT_EQ(RequestContext::permit_wait_for(7).error().code, Code::kPending);
  EXPECT_EQ(RequestContext::refused(), RequestContext::Work::kMayBlock);
  EXPECT_EQ(RequestContext::filesystem(), 7u);
}

TEST(RequestContext, NestedContextHidesAndRestoresTheOuterOne) {
  const RequestContext any(RequestContext::Work::kAny);
  {
    const RequestContext quick(RequestContext::Work::kNonBlocking);
    EXPECT_FALSE(RequestContext::permit_slow_work());
    EXPECT_EQ(std::async(std::launch::async, [] { return RequestContext::is_non_blocking(); }).get(), false);
  }
  EXPECT_TRUE(RequestContext::permit_slow_work());
  EXPECT_FALSE(RequestContext::was_refused());
}

TEST(RequestContext, CancelledContextIsInterrupted) {
  std::atomic<bool> cancelled{false};
  const RequestContext context(RequestContext::Work::kAny, &cancelled);
  EXPECT_TRUE(RequestContext::spend(1));
  cancelled = true;
  EXPECT_EQ(RequestContext::spend(1).error().code, Code::kInterrupted);
  EXPECT_EQ(RequestContext::permit_slow_work().error().code, Code::kInterrupted);
}

TEST(RequestContext, NonBlockingIsRefusedLargeAllocations) {
  const RequestContext quick(RequestContext::Work::kNonBlocking);
  EXPECT_TRUE(Buffer::allocate(LargeAllocations::kLarge - 1));
  EXPECT_EQ(Buffer::allocate(LargeAllocations::kLarge).error().code, Code::kPending);
  EXPECT_THROW(LargeAllocations::announce(LargeAllocations::kLarge), std::bad_alloc);
}

// Returns endless bytes. Each read cancels the caller.
class Endless final : public Source {
 public:
  explicit Endless(std::atomic<bool>& cancelled) : cancelled_(cancelled) {}
  std::uint64_t size() const override { return std::uint64_t{1} << 40; }
  Result<std::size_t> read_at(Position, MutableBytes out) const override {
    read_ += out.size();
    cancelled_ = true;
    return out.size();
  }
  std::uint64_t read() const { return read_; }

 private:
  std::atomic<bool>& cancelled_;
  mutable std::uint64_t read_ = 0;
};

TEST(RequestContext, CancellationEndsALongRead) {
  std::atomic<bool> cancelled{false};
  const RequestContext context(RequestContext::Work::kAny, &cancelled);
  const Endless source(cancelled);
  EXPECT_EQ(read_up_to(source, 0, 64u << 20).error().code, Code::kInterrupted);
  EXPECT_LE(source.read(), 4u << 20);
}

TEST(CancellableMutex, NonBlockingThreadDoesNotWaitForASlowOne) {
  CancellableMutex mutex;
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    const RequestContext quick(RequestContext::Work::kNonBlocking);
    const auto lock = mutex.lock();
    return !lock && lock.error().code == Code::kPending && RequestContext::was_refused();
  });
  EXPECT_TRUE(refused.get());
}

TEST(CancellableMutex, NonBlockingThreadDoesNotWaitForOneThatMayBlock) {
  CancellableMutex mutex;
  const RequestContext holder(RequestContext::Work::kMayBlock);
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    const RequestContext quick(RequestContext::Work::kNonBlocking);
    return !mutex.lock() && RequestContext::refused() == RequestContext::Work::kMayBlock;
  });
  EXPECT_TRUE(refused.get());
}

TEST(CancellableMutex, OneThreadAtATimeHoldsIt) {
  CancellableMutex mutex;
  int count = 0;
  std::vector<std::future<void>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&, is_non_blocking = i % 2 == 0] {
      for (int round = 0; round < 1000;) {
        const RequestContext context(is_non_blocking ? RequestContext::Work::kNonBlocking : RequestContext::Work::kAny);
        const auto held = mutex.lock();
        if (!held) continue;
        ++count;
        ++round;
      }
    }));
  }
  for (auto& thread : threads) thread.get();
  EXPECT_EQ(count, 4000);
}

TEST(CancellableMutex, CancellationEndsTheWait) {
  CancellableMutex mutex;
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  std::atomic<bool> cancelled{false};
  auto waiter = std::async(std::launch::async, [&] {
    const RequestContext context(RequestContext::Work::kAny, &cancelled);
    const auto lock = mutex.lock();
    return !lock && lock.error().code == Code::kInterrupted;
  });
  cancelled = true;
  EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace recordfs
