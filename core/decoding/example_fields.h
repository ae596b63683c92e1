// Fields of a tensorflow.Example, of which only the wanted features are decoded.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// Passes the features of an Example to a writer, as tensorflow::value_of_example() arranges them; floats remain floats.
// Fails with kDamage if the record is no Example, also if it is a SequenceExample, or if a wanted feature has invalid
// values, and with kLimit if it has too many features. Nothing was passed if `is_example` is false. REQUIRES: the
// writer takes scalars. Any thread.
Result<void> visit_example(JsonWriter& writer, Bytes record, const Limits& limits, bool& is_example);

}  // namespace recordfs
