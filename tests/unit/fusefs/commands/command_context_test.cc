#include "fusefs/commands/command_context.h"

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

Error io_error(int number) { return {.code = Code::kIo, .detail = "failed", .os_error = number}; }

Error failure(Code code) { return {.code = code, .detail = "failed"}; }

ReadingOptions without_index() {
  ReadingOptions options;
  options.index = "no";
  return options;
}

TEST(CommandContext, FailureThatMayPassIsPartlyDoneUnlessRetriesAreDistinguished) {
  CommandContext context(without_index(), Log());
  context.note(io_error(EIO));
  EXPECT_EQ(context.status(), kExitPartlyDone);
}

TEST(CommandContext, RetryIsWorthMoreThanAnyOtherStatus) {
  CommandContext context(without_index(), Log());
  context.distinguish_retries(false);
  context.note(failure(Code::kDamage));
  EXPECT_EQ(context.status(), kExitDamage);
  context.note(io_error(EIO));
  EXPECT_EQ(context.status(), kExitTryAgain);
  context.note(failure(Code::kDamage));
  EXPECT_EQ(context.status(), kExitTryAgain);
}

TEST(CommandContext, LastingFailuresAreNotRetried) {
  for (const Code code : {Code::kDamage, Code::kUnsupported, Code::kLimit, Code::kChanged, Code::kNotFound}) {
    CommandContext context(without_index(), Log());
    context.distinguish_retries(false);
    context.note(failure(code));
    EXPECT_NE(context.status(), kExitTryAgain) << to_string(code);
  }
}

TEST(CommandContext, FileThatCannotBeOpenedIsRetriedUnlessItWillNeverOpen) {
  for (const auto& [number, status] : {std::pair{ENOENT, kExitCannotOpen}, std::pair{EACCES, kExitCannotOpen},
                                       std::pair{EIO, kExitTryAgain}, std::pair{ESTALE, kExitTryAgain}}) {
    CommandContext context(without_index(), Log());
    context.distinguish_retries(false);
    context.report_unopened("file", io_error(number));
    EXPECT_EQ(context.status(), status) << number;
  }
}

TEST(CommandContext, DeniedPermissionHasOneStatus) {
  for (const int number : {EACCES, EPERM}) {
    CommandContext opening(without_index(), Log());
    opening.report_unopened("file", io_error(number));
    CommandContext reading(without_index(), Log());
    reading.note(io_error(number));
    EXPECT_EQ(opening.status(), kExitCannotOpen) << number;
    EXPECT_EQ(reading.status(), kExitCannotOpen) << number;
  }
}

}  // namespace
}  // namespace recordfs
