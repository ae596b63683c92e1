// Tests an object while each allocation fails in turn: what needed the memory fails and reports it, nothing leaks, and
// the next request succeeds.
#pragma once

#include <cerrno>
#include <cstdint>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/result.h"
#include "core/store/wait_ticket.h"
#include "tests/unit/support/failing_allocations.h"
#include "tests/unit/support/signal.h"
#include "tests/unit/support/thorough.h"

namespace recordfs::contract {

using testing::FailingAllocations;

inline constexpr int kFailuresLeft = 3;  // of background threads, each reported to a later request

// Of the allocations from this one on, which are mostly those of the same code for another key or record, one in
// kLaterStep fails, or each with RECORDFS_THOROUGH=2 or more.
inline constexpr std::uint64_t kLater = 200;
inline constexpr std::uint64_t kLaterStep = 5;

// Thrown to end a pass early.
struct NotEnough {};

template <class T>
bool is_for_want_of_memory(const Result<T>& answer) {
  return !answer && (answer.error().code == Code::kOutOfMemory || answer.error().os_error == ENOMEM);
}

// Retries a request until it no longer has to wait.
template <class Ask>
auto waited_for(const Ask& ask) {
  for (;;) {
    auto answer = ask();
    if (answer || !is_waiting(answer.error())) return answer;
    std::optional<testing::Signal> reached;
    {
      const FailingAllocations::Pause pause;
      reached.emplace();
    }
    const testing::Signal signal = *reached;
    const WaitTicket& ticket = *answer.error().wait;
    if (ticket.waitable->wait(ticket, [signal] { signal.set(); }) != 0) reached->wait();
  }
}

// The same, but throws if the request fails for lack of memory.
template <class Ask>
auto answered(const Ask& ask) {
  auto answer = waited_for(ask);
  using Answer = decltype(answer);
  if (is_for_want_of_memory(answer)) throw NotEnough();
  return Answer(std::move(answer));
}

// The answers as text. Collecting them makes no allocation that can fail.
class Told {
 public:
  void add(std::string_view text) {
    const FailingAllocations::Pause pause;
    text_.append(text).append("\n");
  }
  template <class T, class Say>
  void add(const Result<T>& answer, const Say& say) {
    const FailingAllocations::Pause pause;
    add(answer ? std::string(say(*answer)) : "!" + std::string(to_string(answer.error().code)));
  }
  std::string take() {
    const FailingAllocations::Pause pause;
    return std::move(text_);
  }

 private:
  std::string text_;
};

// Returns the number of the allocation to fail after number `first`.
inline std::uint64_t next_to_fail(std::uint64_t first) {
  return first < kLater || testing::is_thorough() ? first + 1 : first + kLaterStep;
}

// Tests an object: makes it, asks everything, and asks again, while allocations fail.
template <class Asked>
class EachAllocation {
 public:
  // Calls `before` and then `make` for each run. Without `counts_pieces`, leaks are left to LeakSanitizer.
  template <class Make, class Before>
  static void fails(const Make& make, const Before& before, bool counts_pieces = true) {
    FailingAllocations::take_what_is_kept();
    before();
    const std::string truth = make()->ask();
    std::uint64_t allocations = 0;
    {
      before();
      const FailingAllocations counted;
      EXPECT_EQ(make()->ask(), truth);
      allocations = counted.seen();
    }
    std::uint64_t tried = 0;
    std::uint64_t failed = 0;
    for (const std::uint64_t count : {std::uint64_t{1}, FailingAllocations::kAllBehind}) {
      for (std::uint64_t first = 0; first < allocations && !::testing::Test::HasFailure();
           first = next_to_fail(first)) {
        SCOPED_TRACE("from allocation " + std::to_string(first) + " of " + std::to_string(allocations));
        ++tried;
        before();
        const std::int64_t in_use = FailingAllocations::in_use();
        failed += fail(make, first, count, truth);
        if (counts_pieces) {
          EXPECT_LE(FailingAllocations::in_use(), in_use) << "memory was lost";
        }
      }
    }
    EXPECT_GT(failed, tried / 2) << "too few have failed";
    std::cout << "allocations that failed: " << failed << " times, of " << allocations << "\n";
  }

 private:
  template <class Make>
  static std::uint64_t fail(const Make& make, std::uint64_t first, std::uint64_t count, const std::string& truth) {
    std::unique_ptr<Asked> asked;
    std::uint64_t failed = 0;
    {
      const FailingAllocations failing(first, count);
      try {
        asked = make();
        const std::string told = asked->ask();
        const FailingAllocations::Pause pause;
        EXPECT_EQ(told, truth) << "without memory";
      } catch (const NotEnough&) {
        // The failure was reported.
      } catch (const std::bad_alloc&) {
        // The mount's outermost handler turns this into ENOMEM.
      }
      failed = failing.failed();
    }
    if (!asked) asked = make();
    EXPECT_EQ(told_with_memory(*asked), truth) << "with memory again";
    asked.reset();
    EXPECT_EQ(make()->ask(), truth) << "by the next one";
    return failed;
  }

  static std::string told_with_memory(Asked& asked) {
    for (int told = 0; told < kFailuresLeft; ++told) {
      try {
        return asked.ask();
      } catch (const NotEnough&) {
        continue;
      }
    }
    return asked.ask();
  }
};

}  // namespace recordfs::contract
