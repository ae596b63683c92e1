#include "core/search/scalar_fields.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace recordfs {
namespace {

// Returns the columns of scalars with the names; empty unless all are such.
std::vector<ScalarColumn> columns_of(const std::vector<std::string>& names) {
  std::vector<ScalarColumn> columns;
  for (const std::string& name : names) {
    const auto column = scalar_column(name);
    if (!column) return {};
    columns.push_back(*column);
  }
  return columns;
}

// A step and a time are also fields of an event.
bool is_only_of_scalar(ScalarColumn column) {
  return column != ScalarColumn::kStep && column != ScalarColumn::kWallTime;
}

// Returns the value of a scalar that has one.
Scalar value_of(const ScalarRow& scalar) {
  if (scalar.exact) return std::visit([](auto number) { return Scalar(number); }, *scalar.exact);
  return scalar.is_float ? Scalar(static_cast<float>(scalar.value)) : Scalar(scalar.value);
}

}  // namespace

ScalarFields::ScalarFields(const std::vector<std::string>& names)
    : columns_(columns_of(names)), is_of_scalars_(std::ranges::any_of(columns_, is_only_of_scalar)) {
  ways_.reserve(names.size());
  for (const std::string& name : names) ways_.push_back(way_after(1, name));
}

std::optional<ScalarSource> ScalarFields::source(const RequestContext& context, const RecordDecoder& decoder,
                                                 std::string_view path) const {
  if (!are_columns()) return std::nullopt;
  // A type that cannot be read now makes decoding fail.
  const auto type = decoder.type(context);
  const auto source = type && type->empty() ? scalar_source_by_name(path) : scalar_source(type.value_or(""));
  return is_of_scalars_ || source != ScalarSource::kEvents ? source : std::nullopt;
}

std::size_t ScalarFields::unknown_field(const ScalarRow& scalar) const {
  if (scalar.has_value) return SIZE_MAX;
  const auto value = std::ranges::find(columns_, ScalarColumn::kValue);
  return value == columns_.end() ? SIZE_MAX : static_cast<std::size_t>(value - columns_.begin());
}

std::vector<FoundField> ScalarFields::pass(std::string_view run, const ScalarRow& scalar, ScalarSink& sink) const {
  std::vector<FoundField> found;
  found.reserve(columns_.size());
  const std::size_t unknown = unknown_field(scalar);
  const auto take = [&](std::size_t field, const Scalar& value) {
    if (field != unknown) sink.take(field, value);
    sink.note_element(field);
    found.push_back({.field = field, .way = ways_[field]});
  };
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    switch (columns_[field]) {
      case ScalarColumn::kRun: take(field, run); break;
      case ScalarColumn::kStep:
        if (scalar.step) take(field, *scalar.step);
        break;
      case ScalarColumn::kWallTime:
        if (scalar.wall_time) take(field, *scalar.wall_time);
        break;
      case ScalarColumn::kTag: take(field, std::string_view(scalar.tag)); break;
      case ScalarColumn::kValue: take(field, value_of(scalar)); break;
    }
  }
  return found;
}

Result<void> visit_fields(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                          Bytes record, std::string_view path_in_set, const FieldPaths& fields, ScalarSink& sink) {
  const ScalarFields scalars(fields.fields());
  const auto source = scalars.source(context, decoder, path_in_set);
  if (!source) {
    JsonFilter filter(fields, sink);
    TRY(decoder.visit(context, chunk, record, filter));
    filter.finish();
    return {};
  }
  const std::string run = run_of(*source, path_in_set);
  for (std::size_t field = 0; field < fields.fields().size(); ++field) fields.declare(field);
  std::optional<Error> left_out;
  const auto take = [&](const ScalarRow& scalar) {
    fields.note(scalars.pass(run, scalar, sink));
    return Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    if (scalars.unknown_field(scalar) == SIZE_MAX) return static_cast<void>(take(scalar));
    if (!left_out) left_out = *scalar.unfit;
  };
  TRY(each_scalar(*source, record, {.take = take, .leave_out = leave_out}));
  return left_out ? Result<void>(std::move(*left_out)) : Result<void>();
}

}  // namespace recordfs
