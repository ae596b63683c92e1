#include "core/decoding/example_fields.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/tensorflow_example.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;
using tensorflow::FeatureKind;

Error invalid_values() { return {.code = Code::kDamage, .detail = "not a tensorflow.Example"}; }

// Passes numbers that follow each other.
Result<void> visit_packed(JsonWriter& writer, FeatureKind kind, Bytes content) {
  for (Cursor cursor(content); !cursor.at_end();) {
    if (kind == FeatureKind::kFloats) {
      const std::uint32_t bits = cursor.u32_le();
      if (cursor.ok()) writer.number(std::bit_cast<float>(bits));
    } else {
      const std::uint64_t value = cursor.varint64();
      if (cursor.ok()) writer.number(static_cast<std::int64_t>(value));
    }
    if (!cursor.ok()) return invalid_values();
  }
  return {};
}

Result<void> visit_values(JsonWriter& writer, const tensorflow::NamedFeature& feature) {
  MessageReader reader(feature.list, 0);
  while (reader.next()) {
    const Field& field = reader.field();
    if (field.is(1, WireType::kVarint) && feature.kind == FeatureKind::kInts) {
      writer.number(static_cast<std::int64_t>(field.value));
    } else if (field.is(1, WireType::kLengthDelimited) && feature.kind == FeatureKind::kBytes) {
      writer.encoded(reader.content());
    } else if (field.is(1, WireType::kLengthDelimited) ||
               (field.is(1, WireType::kFixed32) && feature.kind == FeatureKind::kFloats)) {
      TRY(visit_packed(writer, feature.kind, reader.content()));
    } else {
      return invalid_values();
    }
  }
  return reader.finish() ? Result<void>() : invalid_values();
}

std::string_view list_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes: return "bytes_list";
    case FeatureKind::kFloats: return "float_list";
    default: return "int64_list";
  }
}

Result<void> visit_feature(JsonWriter& writer, const tensorflow::NamedFeature& feature) {
  writer.begin_object();
  if (feature.kind != FeatureKind::kNone) {
    writer.name(list_name(feature.kind));
    writer.begin_object();
    writer.name("value");
    writer.begin_list();
    if (!writer.skips_next()) TRY(visit_values(writer, feature));
    writer.end_list();
    writer.end_object();
  }
  writer.end_object();
  return {};
}

}  // namespace

bool has_examples(const RecordSchema& schema) {
  const auto* const type = schema.type.target<std::string_view (*)(const Value&)>();
  return type != nullptr && *type == &tensorflow::type_of_example;
}

bool is_example(const RecordSchema& schema, const Value& value) {
  const auto* const message = std::get_if<Message>(&value.is);
  if (message != nullptr) {
    return message->type == tensorflow::kExampleType || message->type == tensorflow::kSequenceExampleType;
  }
  return has_examples(schema) && std::holds_alternative<Value::Object>(value.is) &&
         !tensorflow::type_of_example(value).empty();
}

Result<void> visit_example(JsonWriter& writer, Bytes record, const Limits& limits, bool& is_example) {
  is_example = tensorflow::is_empty_example(record);
  if (is_example) {
    writer.begin_object();
    writer.end_object();
    return {};
  }
  const auto features = tensorflow::features_of_example(record, limits);
  is_example = features.has_value();
  if (!features) return features.error();
  writer.begin_object();
  writer.name("features");
  writer.begin_object();
  writer.name("feature");
  writer.begin_object();
  for (const tensorflow::NamedFeature& feature : *features) {
    writer.name(feature.name);
    if (!writer.skips_next()) TRY(visit_feature(writer, feature));
  }
  writer.end_object();
  writer.end_object();
  writer.end_object();
  return {};
}

}  // namespace recordfs
