#include "fusefs/glue/read_ahead_pusher.h"

#include <new>

#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

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
  ASSERT_TRUE(pusher.start(nullptr));
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
  ASSERT_TRUE(pusher.start(nullptr));
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

}  // namespace
}  // namespace recordfs::testing
