#include "core/decoding/field_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace recordfs {
namespace {

using Names = std::set<std::string>;

TEST(FieldNames, AreThePathsOfScalars) {
  EXPECT_EQ(field_names(R"({"a":1,"b":{"c":[{"d":null},{"e":[]}],"f":{}},"key_base64":"AA==","g":{"text":"x"}})"),
            (Names{"a", "b.c.d", "b.c.e", "b.f", "key", "g"}));
  EXPECT_EQ(field_names("[1]"), Names());
  EXPECT_EQ(field_names("{"), Names());
}

TEST(FieldNames, OfFeaturesAreTheirOwn) {
  EXPECT_EQ(field_names(R"({"features":{"feature":{"image/class":{"bytes_list":{"value":[{"base64":"/w=="}]}},)"
                        R"("none":{}}}})"),
            (Names{"image/class", "none"}));
  EXPECT_EQ(field_names(R"({"feature_lists":{"feature_list":{"x":{"feature":[{"int64_list":{"value":[1]}}]}}}})"),
            Names{"x"});
}

TEST(FieldNames, AreWantedOfAFewValuesThatLackAField) {
  const FieldPaths fields({"a"});
  EXPECT_FALSE(fields.wants_names()) << "no value yet";
  fields.note({});
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(fields.wants_names());
    fields.note_names({std::to_string(i)});
  }
  EXPECT_FALSE(fields.wants_names());
  EXPECT_EQ(fields.names(), (Names{"0", "1", "2", "3"}));
}

}  // namespace
}  // namespace recordfs
