// RecordSchema: what the bytes of a container's records mean.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/key_change.h"
#include "core/formats/value.h"

namespace recordfs {

// Functions of a record's bytes alone: they read nothing else, and any thread may call them. A null function means that
// the records have no such form. They fail with kDamage if the bytes are not a record of this kind, and with kLimit.
struct RecordSchema {
  // Converts a record to a Value, which points into `record`.
  std::function<Result<Value>(Bytes record, ValueForm form)> value{};

  // Which records have parts, which are shown as inside/ORDINAL/. A record that is not of this kind has none if they
  // are optional, and is damage otherwise.
  enum class Parts : std::uint8_t { kNone, kOptional, kRequired };
  Parts parts = Parts::kNone;
  // The largest record, in bytes, whose parts are shown. The whole record must be in memory for that.
  std::uint64_t largest_record_with_parts = UINT64_MAX;

  // Passes each change of a record to `take`, in the order in which they take effect. The last values of the keys are
  // shown as keys/KEY. If it fails, `take` was not called.
  std::function<Result<void>(Bytes record, const TakeKeyChange& take)> key_changes{};

  // Whether records without a declared type may be protobuf messages.
  bool may_be_message = true;
};

}  // namespace recordfs
