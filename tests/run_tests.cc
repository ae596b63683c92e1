// Runs the tests of a program: all of them, or with --sources=a_test.cc,b_test.cc those of these source files.
// Understands GoogleTest's own options, too. Leaves out the tests that the file in RECORDFS_LEAVE_OUT names.
#include "tests/run_tests.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace {

constexpr std::string_view kOption = "--sources=";

using Names = std::set<std::string, std::less<>>;

Names split(std::string_view list) {
  Names names;
  while (!list.empty()) {
    const auto end = list.find(',');
    names.emplace(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return names;
}

// The names after --sources=; empty without that option.
Names& selected() {
  static Names names;
  return names;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns a GoogleTest filter for the tests of these source files. Erases the files that have tests from `names`.
std::string filter_of(Names& names) {
  std::string filter;
  Names found;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& test = *suite.GetTestInfo(j);
      const auto name = names.find(base_name(test.file()));
      if (name == names.end()) continue;
      found.insert(*name);
      filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  for (const auto& name : found) names.erase(name);
  return filter;
}

// Returns what follows the filter: the names in the file, whose lines are "NAME | REASON".
std::string left_out() {
  const char* const path = std::getenv("RECORDFS_LEAVE_OUT");
  std::ifstream file(path == nullptr ? "" : path);
  std::string names;
  for (std::string line; std::getline(file, line);) {
    const auto end = line.find(" | ");
    if (end == std::string::npos || line.front() == '#') continue;
    names += (names.empty() ? "-" : ":") + line.substr(0, end);
  }
  return names;
}

}  // namespace

bool recordfs::testing::is_selected(std::string_view file) {
  return selected().empty() || selected().contains(base_name(file));
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kOption)) selected() = split(argument.substr(kOption.size()));
  }
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kOption)) {
      std::fprintf(stderr, "%s: unknown argument\n", argv[i]);
      return 2;
    }
    Names names = split(argument.substr(kOption.size()));
    const std::string filter = filter_of(names);
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
    for (const auto& name : names) std::fprintf(stderr, "%s: no tests\n", name.c_str());
    if (!names.empty()) return 2;
  }
  if (GTEST_FLAG_GET(filter).find('-') == std::string::npos)
    GTEST_FLAG_SET(filter, GTEST_FLAG_GET(filter) + left_out());
  return RUN_ALL_TESTS();
}
