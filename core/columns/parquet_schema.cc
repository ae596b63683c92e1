#include "core/columns/parquet_schema.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

using Repetition = ParquetElement::Repetition;

// The numbers of the enumeration ConvertedType, and of the union LogicalType.
enum class Converted : std::uint8_t { kUtf8 = 0, kList = 3, kUint32 = 13, kUint64 = 14 };
enum class Logical : std::uint8_t { kString = 1, kList = 3, kInteger = 10 };

class SchemaBuilder {
 public:
  explicit SchemaBuilder(ParquetSchema& schema) : schema_(schema) {}

  Result<void> add_children(const ArrowField& parent, ParquetLeaf& way) {
    if (parent.children.empty()) {
      return Error{.code = Code::kUnsupported,
                   .detail = way.names.empty() ? "a Parquet file needs a column"
                                               : fmt::format("Parquet cannot store {}, a struct without fields",
                                                             printable(fmt::format("{}", fmt::join(way.names, "."))))};
    }
    for (std::size_t i = 0; i < parent.children.size(); ++i) {
      way.path.push_back({.child = i});
      TRY(add(parent.children[i], parent.children[i].name, way));
      way.path.pop_back();
    }
    return {};
  }

 private:
  // Adds a field, whose step ends the way.
  Result<void> add(const ArrowField& field, const std::string& name, ParquetLeaf& way) {
    const bool is_leaf = field.format.size() == 1 && std::strchr("gflLiIbUZ", field.format.front()) != nullptr;
    if (!is_leaf && field.format != "+L" && field.format != "+s") {
      return Error{.code = Code::kUnsupported, .detail = "no Parquet type for the format " + printable(field.format)};
    }
    const ParquetLeaf before = way;
    way.names.push_back(name);
    way.path.back().is_nullable = field.is_nullable;
    if (field.is_nullable) ++way.most_definition;
    schema_.elements.push_back({.name = name,
                                .repetition = field.is_nullable ? Repetition::kOptional : Repetition::kRequired,
                                .format = is_leaf ? field.format : std::string(),
                                .children = field.format == "+L" ? 1 : field.children.size(),
                                .is_list = field.format == "+L"});
    if (is_leaf) {
      way.format = field.format;
      schema_.leaves.push_back(way);
    } else if (field.format == "+L") {
      TRY(add_item(field, way));
    } else {
      TRY(add_children(field, way));
    }
    way = before;
    return {};
  }

  Result<void> add_item(const ArrowField& list, ParquetLeaf& way) {
    way.names.emplace_back("list");
    way.path.back().is_list = true;
    ++way.most_definition;
    ++way.most_repetition;
    schema_.elements.push_back({.name = "list", .repetition = Repetition::kRepeated, .children = 1});
    way.path.push_back({});
    TRY(add(list.children.front(), "element", way));
    way.path.pop_back();
    return {};
  }

  ParquetSchema& schema_;
};

void write_logical_type(ThriftWriter& writer, Logical type, std::int8_t bits = 0) {
  writer.begin_struct(10);
  writer.begin_struct(static_cast<int>(type));
  if (type == Logical::kInteger) {
    writer.byte(1, bits);
    writer.boolean(2, false);
  }
  writer.end_struct();
  writer.end_struct();
}

void write_annotation(ThriftWriter& writer, Converted converted, Logical logical, std::int8_t bits = 0) {
  writer.i32(6, static_cast<std::int32_t>(converted));
  write_logical_type(writer, logical, bits);
}

void write_element(ThriftWriter& writer, const ParquetElement& element, bool is_root) {
  writer.begin_element();
  if (!element.format.empty()) writer.i32(1, static_cast<std::int32_t>(parquet_type_of(element.format)));
  if (!is_root) writer.i32(3, static_cast<std::int32_t>(element.repetition));
  writer.binary(4, element.name);
  if (element.format.empty()) writer.i32(5, static_cast<std::int32_t>(element.children));
  if (element.is_list) write_annotation(writer, Converted::kList, Logical::kList);
  if (element.format == "U") write_annotation(writer, Converted::kUtf8, Logical::kString);
  if (element.format == "I") write_annotation(writer, Converted::kUint32, Logical::kInteger, 32);
  if (element.format == "L") write_annotation(writer, Converted::kUint64, Logical::kInteger, 64);
  writer.end_struct();
}

}  // namespace

ParquetType parquet_type_of(const std::string& format) {
  switch (format.front()) {
    case 'b': return ParquetType::kBoolean;
    case 'i':
    case 'I': return ParquetType::kInt32;
    case 'l':
    case 'L': return ParquetType::kInt64;
    case 'f': return ParquetType::kFloat;
    case 'g': return ParquetType::kDouble;
    default: return ParquetType::kByteArray;
  }
}

Result<ParquetSchema> ParquetSchema::of(const ArrowField& root) {
  ParquetSchema schema;
  schema.elements.push_back({.name = "schema", .children = root.children.size()});
  ParquetLeaf way;
  TRY(SchemaBuilder(schema).add_children(root, way));
  return schema;
}

void ParquetSchema::write(ThriftWriter& writer, int field) const {
  writer.begin_list(field, ThriftType::kStruct, elements.size());
  for (const ParquetElement& element : elements) write_element(writer, element, &element == elements.data());
}

}  // namespace recordfs
