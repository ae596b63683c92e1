#include "fusefs/glue/read_ahead_pusher.h"

#include <new>

#include <gtest/gtest.h>

#include "tests/unit/fusefs/toy_tree.h"
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

}  // namespace
}  // namespace recordfs::testing
