#include "core/base/caller.h"

#include <atomic>
#include <future>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/buffer.h"
#include "core/base/large_allocation.h"
#include "core/base/patient_mutex.h"
#include "core/base/source.h"

namespace recordfs {
namespace {

TEST(Caller, ThreadWithoutAContextMayBlock) {
  EXPECT_TRUE(Caller::may_be_slow());
  EXPECT_TRUE(Caller::may_go_on(UINT64_MAX));
  EXPECT_FALSE(Caller::is_quick() || Caller::was_refused() || Caller::gave_up());
}

TEST(Caller, NonBlockingIsRefusedOnceItsCostsAddUpToSlow) {
  const Caller quick(Caller::Work::kQuick);
  EXPECT_TRUE(Caller::may_go_on(Caller::kSlow / 2));
  EXPECT_TRUE(Caller::may_go_on(Caller::kSlow / 2 - 1));
  EXPECT_FALSE(Caller::was_refused());
  EXPECT_EQ(Caller::may_go_on(1).error().code, Code::kPending);
  EXPECT_TRUE(Caller::was_refused());
}

TEST(Caller, MayBlockIsRefusedOnlySlowWork) {
  const Caller caller(Caller::Work::kMayBlock);
  EXPECT_TRUE(Caller::may_wait_for(7));
  EXPECT_FALSE(Caller::was_refused());
  EXPECT_EQ(Caller::may_be_slow().error().code, Code::kPending);
  EXPECT_EQ(Caller::refused(), Caller::Work::kAny);
  EXPECT_EQ(Caller::filesystem(), 7u);
}

TEST(Caller, NonBlockingIsRefusedAFilesystemThatMayHang) {
  const Caller quick(Caller::Work::kQuick);
  EXPECT_TRUE(Caller::may_wait_for(0));
  EXPECT_EQ(Caller::may_wait_for(7).error().code, Code::kPending);
  EXPECT_EQ(Caller::refused(), Caller::Work::kMayBlock);
  EXPECT_EQ(Caller::filesystem(), 7u);
}

TEST(Caller, NestedContextHidesAndRestoresTheOuterOne) {
  const Caller any(Caller::Work::kAny);
  {
    const Caller quick(Caller::Work::kQuick);
    EXPECT_FALSE(Caller::may_be_slow());
    EXPECT_EQ(std::async(std::launch::async, [] { return Caller::is_quick(); }).get(), false);
  }
  EXPECT_TRUE(Caller::may_be_slow());
  EXPECT_FALSE(Caller::was_refused());
}

TEST(Caller, CancelledContextIsInterrupted) {
  std::atomic<bool> gave_up{false};
  const Caller caller(Caller::Work::kAny, &gave_up);
  EXPECT_TRUE(Caller::may_go_on(1));
  gave_up = true;
  EXPECT_EQ(Caller::may_go_on(1).error().code, Code::kInterrupted);
  EXPECT_EQ(Caller::may_be_slow().error().code, Code::kInterrupted);
}

TEST(Caller, NonBlockingIsRefusedLargeAllocations) {
  const Caller quick(Caller::Work::kQuick);
  EXPECT_TRUE(Buffer::allocate(LargeAllocations::kLarge - 1));
  EXPECT_EQ(Buffer::allocate(LargeAllocations::kLarge).error().code, Code::kPending);
  EXPECT_THROW(LargeAllocations::announce(LargeAllocations::kLarge), std::bad_alloc);
}

// Returns endless bytes. Each read cancels the caller.
class Endless final : public Source {
 public:
  explicit Endless(std::atomic<bool>& gave_up) : gave_up_(gave_up) {}
  std::uint64_t size() const override { return std::uint64_t{1} << 40; }
  Result<std::size_t> read_at(Position, MutableBytes out) const override {
    read_ += out.size();
    gave_up_ = true;
    return out.size();
  }
  std::uint64_t read() const { return read_; }

 private:
  std::atomic<bool>& gave_up_;
  mutable std::uint64_t read_ = 0;
};

TEST(Caller, CancellationEndsALongRead) {
  std::atomic<bool> gave_up{false};
  const Caller caller(Caller::Work::kAny, &gave_up);
  const Endless source(gave_up);
  EXPECT_EQ(read_up_to(source, 0, 64u << 20).error().code, Code::kInterrupted);
  EXPECT_LE(source.read(), 4u << 20);
}

TEST(PatientMutex, NonBlockingThreadDoesNotWaitForASlowOne) {
  PatientMutex mutex;
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    const Caller quick(Caller::Work::kQuick);
    const auto lock = mutex.lock();
    return !lock && lock.error().code == Code::kPending && Caller::was_refused();
  });
  EXPECT_TRUE(refused.get());
}

TEST(PatientMutex, NonBlockingThreadDoesNotWaitForOneThatMayBlock) {
  PatientMutex mutex;
  const Caller holder(Caller::Work::kMayBlock);
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  auto refused = std::async(std::launch::async, [&] {
    const Caller quick(Caller::Work::kQuick);
    return !mutex.lock() && Caller::refused() == Caller::Work::kMayBlock;
  });
  EXPECT_TRUE(refused.get());
}

TEST(PatientMutex, OneThreadAtATimeHoldsIt) {
  PatientMutex mutex;
  int count = 0;
  std::vector<std::future<void>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&, is_quick = i % 2 == 0] {
      for (int round = 0; round < 1000;) {
        const Caller caller(is_quick ? Caller::Work::kQuick : Caller::Work::kAny);
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

TEST(PatientMutex, CancellationEndsTheWait) {
  PatientMutex mutex;
  const auto held = mutex.lock();
  ASSERT_TRUE(held);
  std::atomic<bool> gave_up{false};
  auto waiter = std::async(std::launch::async, [&] {
    const Caller caller(Caller::Work::kAny, &gave_up);
    const auto lock = mutex.lock();
    return !lock && lock.error().code == Code::kInterrupted;
  });
  gave_up = true;
  EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace recordfs
