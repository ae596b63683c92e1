// Names of fields that are columns of scalars: run, step, wall_time, tag and value (core/columns/scalar_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/columns/scalar_rows.h"
#include "core/decoding/json_filter.h"
#include "core/decoding/record_decoder.h"

namespace recordfs {

// Immutable and thread-safe.
class ScalarFields {
 public:
  explicit ScalarFields(const std::vector<std::string>& names);

  // Returns whether all names are columns of scalars.
  bool are_columns() const { return !columns_.empty(); }
  // Returns where the records of `decoder` have scalars, by their type, or without one by the name of the file; nullopt
  // if they have none, or if the names are fields of the records: some are no columns of scalars, or all are step and
  // wall_time of events, which have these themselves.
  std::optional<ScalarSource> source(const RequestContext& context, const RecordDecoder& decoder,
                                     std::string_view path) const;

  // Returns the field that a scalar has with an unknown value, because that is invalid; SIZE_MAX if there is none.
  std::size_t unknown_field(const ScalarRow& scalar) const;
  // Passes the known values of a scalar to `sink`, by the numbers of their names, and returns the fields that it has.
  std::vector<FoundField> pass(std::string_view run, const ScalarRow& scalar, ScalarSink& sink) const;

 private:
  const std::vector<ScalarColumn> columns_;  // by field; empty: some names are none
  std::vector<std::uint64_t> ways_;          // to the fields of a record that have the same names
  const bool is_of_scalars_;                 // they cannot be fields of a record
};

// Passes the values of a record's fields to `sink`, and notes which it has: those of its scalars, if the names of the
// fields are columns of these, and otherwise as RecordDecoder::visit(). `path_in_set` names the run. Fails as that, and
// as each_scalar(), also if one of the scalars has an invalid value that is wanted. Thread-safe.
Result<void> visit_fields(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                          Bytes record, std::string_view path_in_set, const FieldPaths& fields, ScalarSink& sink);

}  // namespace recordfs
