#include "core/database/problem_log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace recordfs::database {
namespace {

Problem problem(std::string file, Position position) {
  return {.file = std::move(file), .error = {.code = Code::kDamage, .position = position, .detail = "damaged"}};
}

// Tables are opened on several threads.
std::vector<std::string> places(const std::vector<Problem>& added) {
  ProblemLog log;
  for (const Problem& each : added) log.add(each);
  std::vector<std::string> places;
  for (const Problem& each : log.all()) places.push_back(each.file + ":" + std::to_string(each.error.position));
  return places;
}

// Tables are opened on several threads.
TEST(ProblemLog, OrderOfFilesDoesNotDependOnWhatWasFoundFirst) {
  const std::vector<std::string> expected{"000003.sst:1", "000003.sst:5", "000010.log:2"};
  EXPECT_EQ(places({problem("000003.sst", 1), problem("000003.sst", 5), problem("000010.log", 2)}), expected);
  EXPECT_EQ(places({problem("000010.log", 2), problem("000003.sst", 5), problem("000003.sst", 1)}), expected);
}

TEST(ProblemLog, ReasonOfTheManifestStaysBeforeWhatFollowsFromIt) {
  const std::vector<std::string> expected{"MANIFEST-000007:9", ":0", "000003.sst:1"};
  EXPECT_EQ(places({problem("000003.sst", 1), problem("MANIFEST-000007", 9), problem("", 0)}), expected);
}

TEST(ProblemLog, LossAfterManyHarmlessProblemsIsKept) {
  ProblemLog log;
  for (Position at = 0; at < 70'000; ++at) {
    Problem harmless = problem("000003.log", at);
    harmless.loses_data = false;
    log.add(std::move(harmless));
  }
  log.add(problem("000003.log", 70'000));
  EXPECT_TRUE(log.all().back().loses_data);
}

TEST(ProblemLog, SameProblemIsKeptOnce) {
  ProblemLog log;
  log.add(problem("000003.sst", 1));
  log.add(problem("000003.sst", 1));
  EXPECT_EQ(log.all().size(), 1U);
}

}  // namespace
}  // namespace recordfs::database
