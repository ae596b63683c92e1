#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/mirror.h"
#include "tests/unit/support/signal.h"

namespace recordfs {
namespace {

using testing::Signal;

constexpr timespec kNow{1'000'000, 0};

FileState state(std::uint64_t inode, std::uint64_t size = 10, timespec changed = {100, 1}) {
  return {.device = 1, .inode = inode, .size = size, .modified = {100, 1}, .changed = changed};
}

std::uint64_t number_of(InodeTable& nodes, const FileState& found, MirroredType type = MirroredType::kFile,
                        const timespec& now = kNow) {
  return nodes.look_up_and_reference(0, "a/file", type, found, now)->number;
}

// Returns the number of a node inside a container.
std::uint64_t number_inside(InodeTable& nodes, std::uint64_t container) {
  return number_in(nodes.add(container, InodeTable::wanted("", 1)).value(), {NodeKind::kRecord, 1});
}

TEST(InodeTableMirrored, NumberIsKeptWhileTheFileIsUnchanged) {
  InodeTable nodes;
  const std::uint64_t number = number_of(nodes, state(5));
  EXPECT_TRUE(node_kind(number) == NodeKind::kMirrored);
  EXPECT_EQ(number_of(nodes, state(5)), number);
  EXPECT_EQ(nodes.find_mirrored(number)->path, "a/file");
  EXPECT_NE(nodes.look_up_and_reference(0, "a/other", MirroredType::kFile, state(5), kNow)->number, number);
  EXPECT_NE(nodes.look_up_and_reference(1, "a/file", MirroredType::kFile, state(5), kNow)->number, number);
}

TEST(InodeTableMirrored, NewStateGetsANewNumberAndTheOldOneKeepsItsMeaning) {
  InodeTable nodes;
  std::uint64_t last = number_of(nodes, state(5));
  for (const FileState& found : {state(6), state(6, 11), state(6, 11, {100, 2})}) {
    const auto old = nodes.find_mirrored(last);
    const std::uint64_t number = number_of(nodes, found);
    EXPECT_NE(number, last);
    EXPECT_EQ(nodes.find_mirrored(last), old);
    last = number;
  }
  EXPECT_NE(number_of(nodes, state(6, 11, {100, 2}), MirroredType::kContainer), last);
  EXPECT_EQ(nodes.mirrored_rows(), 5u);
}

TEST(InodeTableMirrored, ChangedDirectoryKeepsItsNumber) {
  InodeTable nodes;
  const std::uint64_t number = number_of(nodes, state(5), MirroredType::kDirectory);
  EXPECT_EQ(number_of(nodes, state(5, 20, {200, 0}), MirroredType::kDirectory), number);
  EXPECT_NE(number_of(nodes, state(6), MirroredType::kDirectory), number);
}

TEST(InodeTableMirrored, UnsettledStateGetsANewNumber) {
  InodeTable nodes;
  const FileState found = state(5, 10, {kNow.tv_sec, 1});
  const timespec same_tick{kNow.tv_sec, 1'000'000};
  const timespec later{kNow.tv_sec, 500'000'000};
  const std::uint64_t first = number_of(nodes, found, MirroredType::kFile, same_tick);
  const std::uint64_t second = number_of(nodes, found, MirroredType::kFile, later);
  EXPECT_NE(second, first);
  EXPECT_EQ(number_of(nodes, found, MirroredType::kFile, later), second);
}

TEST(FileState, IsSettledOnceTheClockHasAdvanced) {
  const auto is_settled = [](timespec changed, timespec now) { return FileState{.changed = changed}.is_settled(now); };
  EXPECT_FALSE(is_settled({10, 5}, {10, 5}));
  EXPECT_FALSE(is_settled({10, 999'000'000}, {11, 1'000'000}));
  EXPECT_TRUE(is_settled({10, 5}, {10, 100'000'000}));
  EXPECT_FALSE(is_settled({10, 0}, {11, 500'000'000})) << "a filesystem that counts seconds";
  EXPECT_TRUE(is_settled({10, 0}, {12, 500'000'000}));
  EXPECT_TRUE(is_settled({20, 5}, {10, 5})) << "another machine's clock";
}

TEST(InodeTableMirrored, IsForgottenWithItsLastLookup) {
  InodeTable nodes;
  const std::uint64_t number = number_of(nodes, state(5), MirroredType::kContainer);
  EXPECT_EQ(number_of(nodes, state(5), MirroredType::kContainer), number);
  nodes.reference_inside(number);
  EXPECT_FALSE(nodes.forget(number, 2));
  EXPECT_TRUE(nodes.find_mirrored(number));
  EXPECT_EQ(nodes.forget(number_inside(nodes, number), 1), number);
  EXPECT_FALSE(nodes.find_mirrored(number));
  EXPECT_EQ(nodes.mirrored_rows(), 0u);
  EXPECT_FALSE(nodes.forget(number, 1));
  nodes.reference_inside(number);
  EXPECT_NE(number_of(nodes, state(5), MirroredType::kContainer), number) << "numbers are not used again";
}

TEST(InodeTableMirrored, OldStateIsForgottenSeparatelyFromTheNew) {
  InodeTable nodes;
  const std::uint64_t old = number_of(nodes, state(5));
  const std::uint64_t number = number_of(nodes, state(6));
  EXPECT_TRUE(nodes.forget(old, 1));
  EXPECT_EQ(number_of(nodes, state(6)), number);
}

TEST(InodeTableMirrored, ManyThreadsLookUpAndForget) {
  InodeTable nodes;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::uint64_t number = number_of(nodes, state(i % 3 + thread % 2));
        const std::uint64_t inside = number_inside(nodes, number);
        nodes.reference_inside(number);
        for (const std::uint64_t known : {number, inside}) {
          if (const auto unused = nodes.forget(known, 1)) nodes.remove(*unused);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(nodes.mirrored_rows(), 0u);
}

// Calls a function on its destruction.
struct Closed {
  std::function<void()> when_closed;
  explicit Closed(std::function<void()> call) : when_closed(std::move(call)) {}
  ~Closed() { when_closed(); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
};

TEST(Closers, CloseOnAnotherThreadAndBeforeTheirEnd) {
  std::vector<std::thread::id> closed_by;
  const auto note = [&] { closed_by.push_back(std::this_thread::get_id()); };
  Closers closers(std::chrono::hours(1), [] {});
  auto last = closers.closed_later(0, std::make_unique<Closed>(note)).value();
  closers.closed_later(0, std::make_unique<Closed>(note)).value().reset();
  closers.stop();
  ASSERT_EQ(closed_by.size(), 1u);
  EXPECT_NE(closed_by.front(), std::this_thread::get_id());
  last.reset();
  ASSERT_EQ(closed_by.size(), 2u) << "after the end it is closed at once";
  EXPECT_EQ(closed_by.back(), std::this_thread::get_id());
}

TEST(Closers, RoomIsWaitedForWhileManyThingsAreClosed) {
  constexpr int kMany = 100;
  std::atomic<int> closed{0};
  const Signal may_close;
  Closers closers(std::chrono::hours(1), [] {});
  for (int i = 0; i < kMany; ++i) {
    const auto close = [&closed, may_close] {
      may_close.wait();
      ++closed;
    };
    closers.closed_later(0, std::make_unique<Closed>(close)).value().reset();
  }
  EXPECT_FALSE(closers.wait_for_room()) << "the wait ends even if none is closed";
  may_close.set();
  while (!closers.wait_for_room()) {
  }
  EXPECT_GT(closed, kMany / 2);
  closers.stop();
  EXPECT_EQ(closed, kMany);
}

TEST(Closers, SweepPeriodically) {
  const Signal is_swept;
  Closers closers(std::chrono::milliseconds(1), [is_swept] { is_swept.set(); });
  ASSERT_TRUE(closers.start(0));
  is_swept.wait();
}

TEST(Closers, HungFilesystemDelaysNoOther) {
  const Signal hangs;
  const Signal released;
  Closers closers(std::chrono::hours(1), [] {});
  const auto close = [&](std::uint64_t filesystem, std::function<void()> task) {
    closers.closed_later(filesystem, std::make_unique<Closed>(std::move(task))).value().reset();
  };
  close(1, [hangs, released] {
    hangs.set();
    released.wait();
  });
  hangs.wait();
  for (int i = 0; i < 100; ++i) close(1, [] {});
  EXPECT_TRUE(closers.wait_for_room());
  for (const std::uint64_t other : {2u, 0u}) {
    const Signal is_closed;
    close(other, [is_closed] { is_closed.set(); });
    is_closed.wait();
  }
  released.set();
  closers.stop();
}

}  // namespace
}  // namespace recordfs
