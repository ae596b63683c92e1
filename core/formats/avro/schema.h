// The schema of a file, which finds where records end, and decodes them. FORMAT.md, "Schema" and "JSON".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::avro {

// Immutable, readable from any thread.
class Schema {
 public:
  // Parses the JSON text of a schema. Fails with kDamage if it is invalid or too large.
  static Result<Schema> parse(Bytes json);

  // Skips one record. Fails with kDamage if the bytes are not one, and with kLimit if it nests too deeply. Takes time
  // linear in the record's size.
  Result<void> skip(Cursor& cursor) const;
  // Returns the size in bytes of the smallest record, or less.
  std::uint64_t least_size() const { return nodes_.front().least_size; }

  // Returns the size in bytes of all records, if it is always the same.
  std::optional<std::uint64_t> fixed_size() const { return nodes_.front().fixed_size; }

  // Returns the content of a record. The result points into `record` and into the schema. Fails with kDamage if the
  // bytes are not one record, and with kLimit.
  Result<Value> value(Bytes record, const Limits& limits) const;

  // Returns the full name of the records' type, or of the primitive type.
  std::string_view name() const { return nodes_.front().name; }

 private:
  friend class SchemaReader;
  friend class RecordSkipper;
  friend class ValueMaker;

  enum class Type : std::uint8_t {
    kNull,
    kBoolean,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kBytes,
    kString,
    kRecord,
    kEnum,
    kArray,
    kMap,
    kFixed,
    kUnion,
  };
  enum class Logical : std::uint8_t { kNone, kDecimal, kUuid, kDuration, kDate, kTime, kTimestamp, kLocalTimestamp };

  // Bytes of fixed number, and a value of variable size after them.
  struct SkipStep {
    std::uint64_t bytes = 0;
    std::uint32_t node = 0;
  };

  // A type. Types refer to each other by their index.
  struct Node {
    Type type = Type::kNull;
    Logical logical = Logical::kNone;
    std::uint64_t unit = 0;              // of a time: units per second; of a decimal: digits after the point
    std::string name{};                  // full, or that of the primitive type
    std::vector<std::uint32_t> inner{};  // types of fields, branches, items or values
    std::vector<std::string> words{};    // names of fields, or symbols
    // A record that contains itself keeps the defaults while it is read.
    std::uint64_t least_size = 0;
    std::optional<std::uint64_t> fixed_size{};  // if all values have one size
    std::vector<SkipStep> steps{};              // of a record, with records of one step replaced by it
    std::uint64_t bytes_after = 0;              // after the last step
    bool has_several_objects = false;           // a union: records or maps

    bool is_object() const { return type == Type::kRecord || type == Type::kMap; }
  };

  std::vector<Node> nodes_;  // the first one is the top
};

}  // namespace recordfs::avro
