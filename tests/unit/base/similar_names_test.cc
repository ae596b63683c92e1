#include "core/base/similar_names.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

TEST(SimilarNames, NearestComeFirst) {
  EXPECT_EQ(nearest_names("labl", {"aaa", "height", "labels", "label", "width"}), "label, labels, aaa, width, height");
  EXPECT_EQ(nearest_names("label", {"lamp", "tables", "image/class/label"}), "image/class/label, lamp, tables");
  EXPECT_EQ(nearest_names("b", {"c", "a", std::string(1000, 'b')}), "c, a, " + std::string(1000, 'b'));
  EXPECT_EQ(nearest_names("ts.seconds", {"t", "is.seconds", "ts"}), "ts, is.seconds, t");
  EXPECT_EQ(nearest_names("x", {}), "");
}

TEST(SimilarNames, AtMostTenAreNamed) {
  EXPECT_EQ(nearest_names("zzzz", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "\x01zzzz"}),
            "\\x01zzzz, a, b, c, d, e, f, g, h, i, ...");
}

TEST(SimilarNames, OnlySimilarOnesAreMeant) {
  constexpr std::string_view kNames[] = {"cat", "cp", "grep"};
  EXPECT_EQ(similar_names("ct", kNames), "cat or cp");
  EXPECT_EQ(similar_names("info", kNames), "");
}

}  // namespace
}  // namespace recordfs
