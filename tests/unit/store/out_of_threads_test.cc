// Each test runs in a child process whose address space has no room for another thread's stack.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "core/store/executor.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

class OutOfThreads : public ::testing::Test {
 protected:
  // Children start fresh, without threads of other tests.
  OutOfThreads() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void limit_address_space(bool limited) {
  constexpr std::uint64_t kLessThanAStack = 1 << 20;
  struct rlimit limit {};
  ::getrlimit(RLIMIT_AS, &limit);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  limit.rlim_cur = limited ? pages * 4096 + kLessThanAStack : limit.rlim_max;
  ::setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void leave(bool good) { std::_Exit(good ? 0 : 1); }

const auto kGood = ::testing::ExitedWithCode(0);

[[noreturn]] void walk_without_a_thread() {
  const toy::File file = toy::make_file({.chunks = 6});
  const auto source = toy::source_of(file.bytes);
  const auto container = toy::open(source, Limits{}).value();
  Catalog catalog(*container, *source, ScanDetail::kCounts, {});
  const auto first = catalog.totals();
  bool good = !first && is_waiting(first.error());
  limit_address_space(true);
  good = good && catalog.wait(*first.error().wait, [] { leave(false); }) == 0;
  limit_address_space(false);
  good = good && catalog.totals().error().code == Code::kOutOfMemory;
  leave(good && waited([&] { return catalog.totals(); })->records == 18);
}

[[noreturn]] void execute_without_a_thread() {
  Executor executor(2);
  limit_address_space(true);
  const bool none = !executor.start() && !executor.post(Executor::Priority::kWaitedFor, [] { leave(false); });
  limit_address_space(false);
  const bool one = executor.start();
  limit_address_space(true);
  const Signal ran;
  const bool taken = executor.post(Executor::Priority::kWaitedFor, [ran] { ran.set(); });
  if (taken) ran.wait();
  leave(none && one && taken);
}

TEST_F(OutOfThreads, WaitForTheCatalogFailsAndLaterSucceeds) { EXPECT_EXIT(walk_without_a_thread(), kGood, ""); }

TEST_F(OutOfThreads, ExecutorRunsTasksOnTheThreadsItHas) { EXPECT_EXIT(execute_without_a_thread(), kGood, ""); }

}  // namespace
}  // namespace recordfs::testing
