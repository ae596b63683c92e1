#include "core/database/uncertain_keys.h"

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace recordfs {
namespace {

Error io_error(int number) { return {.code = Code::kIo, .detail = "failed", .os_error = number}; }

Error failure(Code code) { return {.code = code, .detail = "failed"}; }

TEST(DatabaseImpact, DatabaseThatChangesTooFastIsWorthARetry) {
  EXPECT_EQ(impact_of_opening(failure(Code::kChanged)), Impact::kPassing);
  EXPECT_EQ(impact_of_reading(failure(Code::kChanged)), Impact::kPassing);
  EXPECT_EQ(impact_of_reading(io_error(ENOENT)), Impact::kPassing);
  EXPECT_EQ(impact_of_opening(io_error(ENOENT)), Impact::kUnopened);
}

TEST(DatabaseImpact, DeniedPermissionIsAFileThatCannotBeOpened) {
  for (const int number : {EACCES, EPERM}) {
    EXPECT_EQ(impact_of_reading(io_error(number)), Impact::kUnopened) << number;
    EXPECT_EQ(impact_of_opening(io_error(number)), Impact::kUnopened) << number;
  }
}

TEST(DatabaseImpact, ProblemHasTheImpactOfItsCause) {
  for (const auto& [code, impact] :
       {std::pair{Code::kDamage, Impact::kDamage}, std::pair{Code::kNotFound, Impact::kDamage},
        std::pair{Code::kUnsupported, Impact::kIncomplete}, std::pair{Code::kLimit, Impact::kIncomplete}}) {
    EXPECT_EQ(impact_of({.file = {}, .error = failure(code)}), impact) << to_string(code);
    EXPECT_EQ(impact_of({.file = {}, .error = failure(code), .loses_data = false}), Impact::kNone) << to_string(code);
  }
}

}  // namespace
}  // namespace recordfs
