// The order of file names that contain numbers.
#include "core/dataset/natural_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

TEST(NaturalOrderTest, NumbersAreComparedByValue) {
  EXPECT_TRUE(is_before("part-9", "part-10"));
  EXPECT_FALSE(is_before("part-10", "part-9"));
  EXPECT_TRUE(is_before("a2b10", "a2b11"));
  EXPECT_TRUE(is_before("9", "10"));
}

TEST(NaturalOrderTest, NumbersOfAnyLengthAreCompared) {
  const std::string nines(40, '9');
  EXPECT_TRUE(is_before("x" + nines, "x1" + std::string(40, '0')));
  EXPECT_FALSE(is_before("x1" + std::string(40, '0'), "x" + nines));
}

TEST(NaturalOrderTest, LeadingZerosDecideLast) {
  EXPECT_TRUE(is_before("a1", "a01"));
  EXPECT_FALSE(is_before("a01", "a1"));
  EXPECT_TRUE(is_before("a01b1", "a1b2"));
  EXPECT_TRUE(is_before("a1b01", "a01b1"));
  EXPECT_TRUE(is_before("0", "00"));
  EXPECT_TRUE(is_before("00", "1"));
}

TEST(NaturalOrderTest, TextIsComparedByBytes) {
  EXPECT_TRUE(is_before("", "a"));
  EXPECT_TRUE(is_before("a", "ab"));
  EXPECT_TRUE(is_before("B", "a"));
  EXPECT_TRUE(is_before("a", "\xc3\xa4"));
  EXPECT_TRUE(is_before("a-1", "a1"));
  EXPECT_TRUE(is_before("1", "a"));
}

TEST(NaturalOrderTest, EqualNamesAreNotOrdered) {
  for (const std::string name : {"", "a", "007", "a01b2"}) EXPECT_FALSE(is_before(name, name));
}

// A sort with an inconsistent order is undefined behaviour.
TEST(NaturalOrderTest, OrderOfManyNamesIsStrictAndTransitive) {
  std::vector<std::string> names;
  for (const std::string first : {"", "a", "0", "00", "1", "01", "10"}) {
    for (const std::string second : {"", "b", "-", "0", "1", "01", "2"}) {
      for (const std::string third : {"", "0", "00", "1", "c"}) names.push_back(first + second + third);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(is_before(a, b), a != b && !is_before(b, a)) << a << " " << b;
      if (!is_before(a, b)) continue;
      for (const std::string& c : names) {
        EXPECT_TRUE(!is_before(b, c) || is_before(a, c)) << a << " " << b << " " << c;
      }
    }
  }
}

}  // namespace
}  // namespace recordfs::testing
