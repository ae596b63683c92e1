#include "core/base/request_context.h"

#include <atomic>
#include <future>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/buffer.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/source.h"

namespace recordfs {
namespace {

TEST(RequestContext, DefaultPermitsEverything) {
  const RequestContext context;
  EXPECT_TRUE(context.permit_slow_work());
  EXPECT_TRUE(context.spend(UINT64_MAX));
  EXPECT_FALSE(context.is_non_blocking() || context.was_refused() || context.cancelled());
}

TEST(RequestContext, NonBlockingIsRefusedOnceItsCostsAddUpToSlow) {
  RequestContext::Attempt attempt;
  const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
  EXPECT_TRUE(quick.spend(RequestContext::kSlow / 2));
  EXPECT_TRUE(quick.spend(RequestContext::kSlow / 2 - 1));
  EXPECT_FALSE(quick.was_refused());
  EXPECT_EQ(quick.spend(1).error().code, Code::kPending);
  EXPECT_TRUE(quick.was_refused());
}

TEST(RequestContext, MayBlockIsRefusedOnlySlowWork) {
  RequestContext::Attempt attempt;
  const RequestContext context(RequestContext::Permission::kMayBlock, attempt);
  EXPECT_TRUE(context.permit_wait_for(7));
  EXPECT_FALSE(context.was_refused());
  EXPECT_EQ(context.permit_slow_work().error().code, Code::kPending);
  EXPECT_EQ(context.refused(), RequestContext::Permission::kAny);
  EXPECT_EQ(attempt.filesystem, 7u);
}

TEST(RequestContext, NonBlockingIsRefusedAFilesystemThatMayHang) {
  RequestContext::Attempt attempt;
  const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
  EXPECT_TRUE(quick.permit_wait_for(0));
  EXPECT_EQ(quick.permit_wait_for(7).error().code, Code::kPending);
  EXPECT_EQ(quick.refused(), RequestContext::Permission::kMayBlock);
  EXPECT_EQ(attempt.filesystem, 7u);
}

class Ignored final : public LargeAllocations {
  void on_large_allocation(const RequestContext&) override {}
};

TEST(RequestContext, ContextForAPartKeepsThePermissionsAndTheAttempt) {
  std::atomic<bool> cancelled{false};
  RequestContext::Attempt attempt;
  const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt, &cancelled);
  Ignored listener;
  const RequestContext part = quick.with(listener);
  EXPECT_TRUE(part.is_non_blocking());
  EXPECT_TRUE(part.spend(100));
  EXPECT_EQ(attempt.bytes, 100u);
  EXPECT_FALSE(quick.was_refused());
  EXPECT_EQ(part.permit_slow_work().error().code, Code::kPending);
  EXPECT_TRUE(quick.was_refused());
  EXPECT_EQ(quick.refused(), RequestContext::Permission::kAny);
  cancelled = true;
  EXPECT_TRUE(part.cancelled());
  EXPECT_FALSE(RequestContext().with(listener).is_non_blocking());
}

TEST(RequestContext, CancelledContextIsInterrupted) {
  std::atomic<bool> cancelled{false};
  const RequestContext context(cancelled);
  EXPECT_TRUE(context.spend(1));
  cancelled = true;
  EXPECT_EQ(context.spend(1).error().code, Code::kInterrupted);
  EXPECT_EQ(context.permit_slow_work().error().code, Code::kInterrupted);
}

TEST(RequestContext, NonBlockingIsRefusedLargeAllocations) {
  RequestContext::Attempt attempt;
  const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
  EXPECT_TRUE(Buffer::allocate(quick, RequestContext::kLargeAllocation - 1));
  EXPECT_EQ(Buffer::allocate(quick, RequestContext::kLargeAllocation).error().code, Code::kPending);
  EXPECT_THROW(quick.announce(RequestContext::kLargeAllocation), std::bad_alloc);
}

// Returns endless bytes. Each read cancels the caller.
class Endless final : public Source {
 public:
  explicit Endless(std::atomic<bool>& cancelled) : cancelled_(cancelled) {}
  std::uint64_t size() const override { return std::uint64_t{1} << 40; }
  Result<std::size_t> read_at(const RequestContext&, Position, MutableBytes out) const override {
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
  const RequestContext context(cancelled);
  const Endless source(cancelled);
  EXPECT_EQ(read_up_to(context, source, 0, 64u << 20).error().code, Code::kInterrupted);
  EXPECT_LE(source.read(), 4u << 20);
}

TEST(CancellableMutex, NonBlockingThreadDoesNotWaitForASlowOne) {
  CancellableMutex mutex;
  const auto held = mutex.lock({});
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    RequestContext::Attempt attempt;
    const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
    const auto lock = mutex.lock(quick);
    return !lock && lock.error().code == Code::kPending && quick.was_refused();
  });
  EXPECT_TRUE(refused.get());
}

TEST(CancellableMutex, NonBlockingThreadDoesNotWaitForOneThatMayBlock) {
  CancellableMutex mutex;
  RequestContext::Attempt holder_attempt;
  const RequestContext holder(RequestContext::Permission::kMayBlock, holder_attempt);
  const auto held = mutex.lock(holder);
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    RequestContext::Attempt attempt;
    const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
    return !mutex.lock(quick) && quick.refused() == RequestContext::Permission::kMayBlock;
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
        RequestContext::Attempt attempt;
        const RequestContext context(
            is_non_blocking ? RequestContext::Permission::kNonBlocking : RequestContext::Permission::kAny, attempt);
        const auto held = mutex.lock(context);
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
  const auto held = mutex.lock({});
  ASSERT_TRUE(held);
  std::atomic<bool> cancelled{false};
  auto waiter = std::async(std::launch::async, [&] {
    const RequestContext context(cancelled);
    const auto lock = mutex.lock(context);
    return !lock && lock.error().code == Code::kInterrupted;
  });
  cancelled = true;
  EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace recordfs
