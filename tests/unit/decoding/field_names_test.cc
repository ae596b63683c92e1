#include "core/decoding/field_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace recordfs {
namespace {

using Names = std::set<std::string>;

// Returns the names in a record that is a text of JSON.
Names names_in(std::string_view json) {
  const RecordSchema schema;
  const FieldPaths fields({"absent"});
  fields.note({});
  note_field_names({}, RecordDecoder(schema, nullptr), {}, as_bytes(json), fields);
  return fields.names();
}

TEST(FieldNames, AreThePathsOfScalars) {
  EXPECT_EQ(names_in(R"({"a":1,"b":{"c":[{"d":null},{"e":[]},2],"f":{}},"g":{"text":"x"},"h":[[{"i":1}]]})"),
            (Names{"a", "b.c", "b.c.d", "b.c.e", "b.f", "g.text", "h.i"}));
  EXPECT_EQ(names_in("[1]"), Names());
  EXPECT_EQ(names_in("{"), Names());
}

TEST(FieldNames, OfFeaturesAreTheirOwn) {
  EXPECT_EQ(feature_name("features.feature.image/class.bytes_list.value"), "image/class");
  EXPECT_EQ(feature_name("features.feature.none"), "none");
  EXPECT_EQ(feature_name("context.feature.a.b.int64_list.value"), "a.b");
  EXPECT_EQ(feature_name("feature_lists.feature_list.x.feature.float_list.value"), "x");
  EXPECT_EQ(feature_name("features.feature.context.feature.x"), "context.feature.x");
  EXPECT_EQ(names_in(R"({"features":{"feature":{"a":1}}})"), Names{"features.feature.a"}) << "no Example";
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
