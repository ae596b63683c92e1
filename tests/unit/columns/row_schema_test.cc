// Which fields of messages the selected columns need.
#include "core/columns/row_schema.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/base/protobuf.h"

namespace recordfs {
namespace {

std::string nested(std::uint32_t number, std::string_view content) {
  std::string out;
  protobuf::append_field(out, number, content);
  return out;
}

// Returns a FieldDescriptorProto: a message if it has the name of a type, otherwise an int64.
std::string declared(std::string_view name, char number, std::string_view type = {}, bool is_repeated = false) {
  std::string out = nested(1, name) + std::string{'\x18', number, '\x20', is_repeated ? '\x03' : '\x01', '\x28'};
  out += type.empty() ? '\x03' : '\x0B';
  return nested(2, type.empty() ? out : out + nested(6, type));
}

// Returns the schema of T {id, at: P {x, y}, all: repeated P}.
Result<std::shared_ptr<const RowSchema>> schema_of(std::string_view selected) {
  const std::string point = nested(1, "P") + declared("x", 1) + declared("y", 2);
  const std::string type =
      nested(1, "T") + declared("id", 1) + declared("at", 2, ".P") + declared("all", 3, ".P", true);
  const auto descriptors =
      std::make_shared<const std::string>(nested(1, nested(1, "t.proto") + nested(4, point) + nested(4, type)));
  auto selection = ColumnSelection::parse(selected);
  if (!selection) return selection.error();
  return RowSchema::find({}, {.types = {.descriptors = descriptors, .type = "T"}, .selection = std::move(*selection)});
}

// Returns the numbers of the fields that are included, and in parentheses those of messages that are not whole.
std::string included_in(const FieldProjection& wanted, FieldProjection::Place place = FieldProjection::kRecord) {
  std::string all;
  for (std::uint32_t number = 1; number <= 3; ++number) {
    const auto inside = wanted.field(place, number);
    if (inside == FieldProjection::kExcluded) continue;
    all += std::to_string(number);
    if (inside != FieldProjection::kWhole) all += "(" + included_in(wanted, inside) + ")";
  }
  return all;
}

TEST(RowSchema, PathsNeedOnlyTheirFields) {
  for (const auto& [selected, fields] : {std::pair("id", "1"),
                                         {"at", "2"},
                                         {"at.x", "2(1)"},
                                         {"all.y,id", "13(2)"},
                                         {"at.y,at", "2"},
                                         {"at.x,at.y", "2(12)"}}) {
    const auto schema = schema_of(selected);
    ASSERT_TRUE(schema) << selected << ": " << schema.error().detail;
    FieldProjection wanted;
    EXPECT_TRUE((*schema)->add_wanted_fields(wanted));
    EXPECT_EQ(included_in(wanted), fields) << selected;
  }
  EXPECT_FALSE(schema_of("at.z"));
  EXPECT_FALSE(schema_of("id.x"));
}

}  // namespace
}  // namespace recordfs
