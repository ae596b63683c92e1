// The schema of a Parquet file: https://parquet.apache.org/docs/file-format/types/logicaltypedefinitions/
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/columns/arrow_interface.h"
#include "core/columns/parquet_levels.h"
#include "core/columns/thrift_writer.h"

namespace recordfs {

// The numbers of the enumeration Type.
enum class ParquetType : std::uint8_t { kBoolean = 0, kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6 };

// Returns how Parquet stores values of a type; `format` is that of a leaf.
ParquetType parquet_type_of(const std::string& format);

// A field of the schema, with its group if it is one.
struct ParquetElement {
  // The numbers of the enumeration FieldRepetitionType.
  enum class Repetition : std::uint8_t { kRequired = 0, kOptional = 1, kRepeated = 2 };

  std::string name{};
  Repetition repetition = Repetition::kRequired;
  std::string format{};  // of a leaf; empty: a group
  std::size_t children = 0;
  bool is_list = false;
};

// Immutable.
struct ParquetSchema {
  std::vector<ParquetElement> elements{};  // each before its children; the first is the root
  std::vector<ParquetLeaf> leaves{};       // in the order of `elements`

  // Returns the schema of a table with the fields of `root` as columns. A list is a group with the annotation LIST.
  // Fails with kUnsupported if a struct has no fields, which Parquet cannot store, and for types that are not listed at
  // arrow_field_of().
  static Result<ParquetSchema> of(const ArrowField& root);

  // Writes the field `field`, a list of SchemaElement.
  void write(ThriftWriter& writer, int field) const;
};

}  // namespace recordfs
