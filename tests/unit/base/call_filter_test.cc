#include "core/base/call_filter.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>

namespace recordfs {
namespace {

// No kernel has calls of these numbers: they fail with ENOSYS if the filter allows them.
constexpr long kFirst = 5000;
constexpr long kLast = 5900;

int error_of(long call, std::uint64_t first = 0, std::uint64_t second = 0) {
  errno = 0;
  return ::syscall(call, first, second) == -1 ? errno : 0;
}

// Returns how many of `tried` have failed in a process with the filter, or a negative number if it could not begin.
int wrong_with(const CallFilter& filter, const std::function<int()>& tried) {
  constexpr int kNotBegun = 255;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || filter.begin() != 0) ::_exit(kNotBegun);
    ::_exit(tried());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == kNotBegun ? -1 : WEXITSTATUS(status);
}

bool is_ruled(long call) { return call >= kFirst && call <= kLast && call % 7 < 3; }

// So many rules need jumps over more than 255 instructions.
TEST(CallFilter, EachCallHasItsOwnOutcome) {
  CallFilter filter(CallAction::kAllow);
  for (long call = kFirst; call <= kLast; ++call) {
    if (is_ruled(call)) filter.add(call, CallAction::kRefuse);
  }
  EXPECT_EQ(wrong_with(filter,
                       [] {
                         int wrong = 0;
                         for (long call = kFirst - 10; call <= kLast + 10; ++call) {
                           if (error_of(call) != (is_ruled(call) ? EPERM : ENOSYS)) ++wrong;
                         }
                         return wrong;
                       }),
            0);
}

TEST(CallFilter, CallsWithoutARuleHaveTheOthersOutcome) {
  CallFilter filter(CallAction::kRefuse);
  for (const long call : {static_cast<long>(SYS_exit_group), kFirst}) filter.add(call, CallAction::kAllow);
  EXPECT_EQ(wrong_with(filter,
                       [] {
                         return (error_of(kFirst) != ENOSYS ? 1 : 0) + (error_of(kFirst + 1) != EPERM ? 1 : 0) +
                                (error_of(SYS_getppid) != EPERM ? 1 : 0);
                       }),
            0);
}

TEST(CallFilter, MissingCallFailsAsOnAnOlderKernel) {
  CallFilter filter(CallAction::kAllow);
  filter.add(SYS_getppid, CallAction::kMissing);
  EXPECT_EQ(wrong_with(filter, [] { return error_of(SYS_getppid) == ENOSYS ? 0 : 1; }), 0);
}

TEST(CallFilter, ArgumentsAreComparedInBothHalves) {
  constexpr std::uint64_t kUpper = 1ull << 40;
  constexpr long kMasked = kFirst + 1;
  constexpr long kInt = kFirst + 2;
  CallFilter filter(CallAction::kAllow);
  filter.add(kFirst, CallAction::kRefuse, CallArgument{1, kWholeArgument, kUpper | 3});
  filter.add(kMasked, CallAction::kRefuse, CallArgument{0, kUpper | 4, kUpper});
  filter.add(kInt, CallAction::kRefuse, CallArgument{0, kIntArgument, 3});
  EXPECT_EQ(wrong_with(filter,
                       [] {
                         const int outcomes[][2] = {{error_of(kFirst, 0, kUpper | 3), EPERM},
                                                    {error_of(kFirst, 0, 3), ENOSYS},
                                                    {error_of(kFirst, 0, kUpper), ENOSYS},
                                                    {error_of(kFirst, kUpper | 3, 0), ENOSYS},
                                                    {error_of(kMasked, kUpper | 3), EPERM},
                                                    {error_of(kMasked, kUpper | 4), ENOSYS},
                                                    {error_of(kMasked, 0), ENOSYS},
                                                    {error_of(kInt, kUpper | 3), EPERM},
                                                    {error_of(kInt, 4), ENOSYS}};
                         int wrong = 0;
                         for (const auto& [error, wanted] : outcomes) wrong += error == wanted ? 0 : 1;
                         return wrong;
                       }),
            0);
}

TEST(CallFilter, FirstMatchingArgumentAppliesBeforeTheRuleWithoutOne) {
  CallFilter filter(CallAction::kAllow);
  filter.add(SYS_getppid, CallAction::kRefuse);
  filter.add(SYS_getppid, CallAction::kAllow, CallArgument{0, 1, 1});
  filter.add(SYS_getppid, CallAction::kMissing, CallArgument{0, 3, 3});
  filter.add(SYS_getppid, CallAction::kMissing, CallArgument{0, 2, 2});
  EXPECT_EQ(wrong_with(filter,
                       [] {
                         return (error_of(SYS_getppid, 0) != EPERM ? 1 : 0) + (error_of(SYS_getppid, 1) != 0 ? 1 : 0) +
                                (error_of(SYS_getppid, 3) != 0 ? 1 : 0) + (error_of(SYS_getppid, 2) != ENOSYS ? 1 : 0);
                       }),
            0);
}

}  // namespace
}  // namespace recordfs
