// The scalars of TensorBoard's event files and of runs of wandb and SwanLab as rows: run, step, wall_time, tag, value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/exact_number.h"
#include "core/decoding/message_schema.h"

namespace recordfs {

// Which messages the scalars are in.
enum class ScalarSource : std::uint8_t {
  // tensorflow.Event: each simple value of a summary, and each tensor of a numeric type without dimensions, or with one
  // element if the plugin "scalars", or none, shows it.
  kEvents,
  // wandb_internal.Record: each number of a history record, also inside an object, with "." between the keys. Objects
  // with a member _type are media, and keys that begin with _ are wandb's own.
  kHistory,
  // swanlab.record.v1.Record: the number of each scalar.
  kSwanLab,
};

// Returns the source by the full name of the type; nullopt for any other type.
std::optional<ScalarSource> scalar_source(std::string_view type);
// Returns the source by the name of a file, which tells it of a run without a first record; nullopt for other names.
std::optional<ScalarSource> scalar_source_by_name(std::string_view path);

// A scalar, which is a row unless it is unfit. Step and time are those of its event or history record.
struct ScalarRow {
  std::optional<std::int64_t> step{};
  std::optional<double> wall_time{};  // seconds since 1970-01-01T00:00:00Z
  std::string tag{};
  double value = 0;
  bool is_float = false;  // the value is stored as a float
  // Why the scalar cannot be a row: kDamage if its value is invalid, or not exactly a double, or its tag is no text.
  std::optional<Error> unfit{};
  bool has_value = true;               // false: the value is invalid
  std::optional<ExactNumber> exact{};  // the value, if no double equals it
};

// Receives the scalars of a record, in order.
struct ScalarTaker {
  // A failure ends the record.
  std::function<Result<void>(const ScalarRow&)> take{};
  // Receives an unfit scalar, after which the others follow.
  std::function<void(const ScalarRow&)> leave_out{};
  // Receives a value of several numbers, or of none, which is no scalar; has only the other columns. May be empty.
  std::function<void(const ScalarRow&)> skip{};
};

// Fails with kDamage if the record is not of the type, with kUnsupported if it is a JSON text of SwanLab before 0.8.0,
// with kLimit, and as `take`. Thread-safe.
Result<void> each_scalar(ScalarSource source, Bytes record, const ScalarTaker& taker);

enum class ScalarColumn : std::uint8_t { kRun, kStep, kWallTime, kTag, kValue };

// Returns the column with a name; nullopt if there is none.
std::optional<ScalarColumn> scalar_column(std::string_view name);

// Returns the columns of rows of scalars, and a row of them as a message.
MessageField scalar_columns();
std::string scalar_message(std::string_view run, const ScalarRow& scalar);

// Returns the run that the rows of a file name: the directory of an event file, as the path has it ("." without one);
// of run-ID.wandb and run-ID.swanlab, the ID.
std::string run_of(ScalarSource source, std::string_view path);

}  // namespace recordfs
