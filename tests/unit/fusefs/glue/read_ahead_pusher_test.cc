#include "fusefs/glue/read_ahead_pusher.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/formats/registry.h"
#include "tests/unit/fusefs/tree/toy_tree.h"
#include "tests/unit/support/signal.h"
#include "tests/unit/support/waited.h"
#ifdef RECORDFS_HAVE_BLOSC
#include "tests/unit/formats/bloscpack/writer.h"
#endif

namespace recordfs::testing {
namespace {

constexpr auto no_stores = [](std::uint64_t, Bytes) { return false; };

TEST(ReadAheadPusher, OutOfMemoryDoesNotEndTheProcess) {
  ToyStore walked({});
  const ToyTree same(walked);
  ToyStore toy({});
  const Signal thrown;
  toy.watch->on_scan = [thrown](Position) {
    thrown.set();
    throw std::bad_alloc();
  };
  const ToyTree tree(toy);
  ReadAheadPusher pusher(*tree);
  ASSERT_TRUE(pusher.start(no_stores));
  for (const char* record : {"records/3", "records/4"}) pusher.was_read(same.find(record).value());
  thrown.wait();
}

TEST(ReadAheadPusher, OneRequestAheadOfAPushWaitsForIt) {
  ToyStore walked({});
  const ToyTree same(walked);
  ToyStore toy({});
  const Signal begun;
  const Signal may_end;
  toy.watch->on_scan = [begun, may_end](Position) {
    begun.set();
    may_end.wait();
    throw std::bad_alloc();
  };
  const ToyTree tree(toy);
  ReadAheadPusher pusher(*tree);
  ASSERT_TRUE(pusher.start(no_stores));
  const auto number = [&same](const char* record) { return same.find(record).value(); };
  const Signal resumed;
  const auto resume = [resumed] { resumed.set(); };
  EXPECT_FALSE(pusher.holds(number("records/6"), resume));
  for (const char* record : {"records/3", "records/4"}) pusher.was_read(number(record));
  begun.wait();
  EXPECT_FALSE(pusher.holds(number("records/4"), resume));
  EXPECT_TRUE(pusher.holds(number("records/6"), resume));
  EXPECT_FALSE(pusher.holds(number("records/7"), resume));
  may_end.set();
  resumed.wait();
}

TEST(ReadAheadPusher, StoresNothingAfterTheEnd) {
  ToyStore toy({.chunks = 4});
  const ToyTree tree(toy);
  ReadAheadPusher pusher(*tree);
  const Signal begun;
  const Signal may_end;
  std::atomic<int> stores{0};
  ASSERT_TRUE(pusher.start([&stores, begun, may_end](std::uint64_t, Bytes) {
    ++stores;
    begun.set();
    may_end.wait();
    return true;
  }));
  for (const char* record : {"records/0", "records/1"}) pusher.was_read(tree.find(record).value());
  begun.wait();
  pusher.end_stores(std::chrono::milliseconds(1));
  may_end.set();
  pusher.stop();
  EXPECT_EQ(stores, 1);
}

#ifdef RECORDFS_HAVE_BLOSC
// A mount of such a file stopped answering when its reader was faster than the pusher.
TEST(ReadAheadPusher, EndsWhenTheReaderIsAheadOfRecordsInAnotherOrderThanTheFile) {
  bloscpack::FileShape shape{.is_variable = true, .order = {0, 1, 2, 4, 3}};
  for (const char* text : {"a", "b", "c", "d", "e"}) shape.chunks.push_back(bloscpack::plain_chunk(text));
  const auto source = std::make_shared<ChangeableSource>(bloscpack::make_file(shape).bytes);
  Lines lines;
  StoreResources resources(64u << 20, 2, lines.log());
  const auto store =
      std::make_shared<RecordStore>("a.blp", source, open_container({}, source, "a.blp", {}).value(), resources);
  const MountTree tree({MountedContainer{"a.blp", store, {}}}, false);
  const auto number = [&](const std::string& record) {
    const std::uint64_t records = waited([&] { return tree.lookup({}, MountTree::kRootNumber, "records"); }).value();
    return waited([&] { return tree.lookup({}, records, record); }).value();
  };
  ASSERT_LT(number("4"), number("3"));
  ReadAheadPusher pusher(tree);
  std::vector<std::uint64_t> stored;
  const auto read_ahead_of_it = [&, last = number("3")](std::uint64_t file, Bytes) {
    stored.push_back(file);
    pusher.was_read(last);
    return stored.size() < 10;
  };
  const std::vector<std::uint64_t> expected{number("2"), number("3")};
  const std::uint64_t first = number("0");
  const std::uint64_t second = number("1");
  ASSERT_TRUE(pusher.start(read_ahead_of_it));
  pusher.was_read(first);
  pusher.was_read(second);
  while (pusher.is_pushing()) std::this_thread::yield();
  pusher.stop();
  EXPECT_EQ(stored, expected);
}
#endif

}  // namespace
}  // namespace recordfs::testing
