// The scalars of TensorBoard's event files and of runs of wandb and SwanLab as rows: run, step, wall_time, tag, value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/message_schema.h"

namespace recordfs {

// Which messages the scalars are in.
enum class ScalarSource : std::uint8_t {
  // tensorflow.Event: each simple value of a summary, and each tensor of a numeric type without dimensions.
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

// A row. Step and time are those of its event or history record.
struct ScalarRow {
  std::optional<std::int64_t> step{};
  std::optional<double> wall_time{};  // seconds since 1970-01-01T00:00:00Z
  std::string tag{};
  double value = 0;
  bool is_float = false;  // the value is stored as a float
};

// Receives the scalars of a record, in order.
struct ScalarTaker {
  // A failure ends the record.
  std::function<Result<void>(const ScalarRow&)> take{};
  // Receives why a scalar cannot be a row, after which the others follow: kDamage if its value is invalid, or not
  // exactly a double.
  std::function<void(Error)> leave_out{};
};

// Fails with kDamage if the record is not of the type, with kLimit, and as `take`. Thread-safe.
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
