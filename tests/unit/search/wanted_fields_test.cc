#include "core/search/wanted_fields.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/protobuf.h"
#include "core/formats/registry.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

using Numbers = std::vector<std::uint32_t>;

MessageField field_of(std::string name, std::uint32_t number, std::vector<MessageField> fields = {},
                      std::optional<std::uint64_t> oneof = {}) {
  const FieldType type = fields.empty() ? FieldType::kInt64 : FieldType::kMessage;
  return {.name = std::move(name), .number = number, .type = type, .oneof = oneof, .fields = std::move(fields)};
}

const std::vector<MessageField> kType = {
    field_of("id", 1),
    field_of("user", 2, {field_of("name", 1), field_of("home", 2, {field_of("street", 1), field_of("no", 2)})}),
    field_of("user_id", 3),
    field_of("counts", 4, {field_of("key", 1), field_of("value", 2)}),
    field_of("text", 5, {}, 0),
    field_of("image", 6, {field_of("width", 1), field_of("pixels", 2)}, 0),
};

// Returns the included ones of all paths, as texts.
std::string included(const std::vector<std::string>& paths) {
  FieldProjection wanted;
  for (const std::string& path : paths) {
    if (!add_wanted_field(kType, path, wanted)) return "unknown";
  }
  std::string all;
  for (const Numbers& path : std::vector<Numbers>{{1}, {2}, {2, 1}, {2, 2}, {2, 2, 1}, {2, 2, 2}, {3}, {4}, {5}, {6}}) {
    FieldProjection::Place place = FieldProjection::kRecord;
    std::string text;
    for (const std::uint32_t number : path) {
      if (place == FieldProjection::kWhole) place = FieldProjection::kExcluded;  // it is included already
      place = wanted.field(place, number);
      text += (text.empty() ? "" : ".") + std::to_string(number);
    }
    if (place == FieldProjection::kWhole) all += (all.empty() ? "" : " ") + text;
  }
  return all;
}

TEST(WantedFields, PathsLeadToFieldsByTheirNames) {
  EXPECT_EQ(included({"id"}), "1");
  EXPECT_EQ(included({"user_id", "user.name"}), "2.1 3");
  EXPECT_EQ(included({"user.home.no"}), "2.2.2");
  EXPECT_EQ(included({"user.home.no", "user.home"}), "2.2");
  EXPECT_EQ(included({"user", "user.home.no"}), "2");
}

TEST(WantedFields, NamesThatAreNoFieldsIncludeAllThatTheyAreIn) {
  EXPECT_EQ(included({"counts.value"}), "4");
  EXPECT_EQ(included({"counts.a.b"}), "4");
  EXPECT_EQ(included({"id.x"}), "1");
  EXPECT_EQ(included({"user.x"}), "2");
  EXPECT_EQ(included({"user."}), "2");
  EXPECT_EQ(included({"use"}), "unknown");
  EXPECT_EQ(included({"label"}), "unknown");
}

TEST(WantedFields, FieldsThatExcludeEachOtherAreIncludedTogether) {
  EXPECT_EQ(included({"text"}), "5 6");
  EXPECT_EQ(included({"image.width"}), "5 6");
}

std::string part(std::uint32_t number, const std::string& content) {
  std::string out;
  protobuf::append_field(out, number, content);
  return out;
}

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string out;
  protobuf::append_varint(out, field << 3);
  protobuf::append_varint(out, value);
  return out;
}

std::string declared(const std::string& name, std::uint32_t field, std::uint64_t type) {
  return part(2, part(1, name) + number(3, field) + number(4, 1) + number(5, type));
}

// Returns the types of tests/corpus/riegeli/transposed_regular.riegeli.
UserTypes types_with(const std::string& third) {
  const std::string message = part(1, "Host") + declared("id", 1, 3) + declared("name", 2, 9) + declared(third, 3, 1);
  return user_types(part(1, part(1, "host.proto") + part(4, message)), "Host").value();
}

TEST(WantedFields, RecordsOfTransposedChunksLackTheOthers) {
  StoreResources services(64u << 20, 1, [](Severity, const std::string&) {});
  const auto file = FileSource::open("tests/corpus/riegeli/transposed_regular.riegeli").value();
  const auto source = std::make_shared<WindowedSource>(file);
  const RecordStore store("file", source, open_container({}, source, "file", {}).value(), services);
  FieldProjection wanted;
  ASSERT_TRUE(add_wanted_fields({}, store, types_with("load"), {"name"}, wanted));
  const auto first = store.index().first_with_records(RequestContext());
  ASSERT_TRUE(first && *first);
  const auto whole = store.chunks().decode_ahead({}, **first).value();
  const auto some = store.chunks().decode_ahead({}, **first, &wanted).value();
  ASSERT_EQ(some->layout().records(), whole->layout().records());
  EXPECT_EQ(as_text(some->read({}, 0, some->layout().extent(0).size)->bytes), "\x12\x05host0");
  EXPECT_LT(some->payload_size(), whole->payload_size() / 2);
  // What is cached is whole.
  EXPECT_EQ(store.chunks().get({}, **first).value()->payload_size(), whole->payload_size());
}

TEST(WantedFields, AllMayBeNeededWhereFeaturesOrUnknownTypesAre) {
  StoreResources services(64u << 20, 1, [](Severity, const std::string&) {});
  const auto file = FileSource::open("tests/corpus/riegeli/transposed_regular.riegeli").value();
  const auto source = std::make_shared<WindowedSource>(file);
  const RecordStore store("file", source, open_container({}, source, "file", {}).value(), services);
  FieldProjection wanted;
  EXPECT_FALSE(add_wanted_fields({}, store, {}, {"name"}, wanted));
  EXPECT_FALSE(add_wanted_fields({}, store, types_with("load"), {"name", "other"}, wanted));
  EXPECT_FALSE(add_wanted_fields({}, store, types_with("features"), {"name"}, wanted));
}

}  // namespace
}  // namespace recordfs
