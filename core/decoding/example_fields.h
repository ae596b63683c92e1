// Fields of a tensorflow.Example, of which only the wanted features are decoded.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/decoding/json_writer.h"
#include "core/formats/container.h"
#include "core/formats/value.h"

namespace recordfs {

// Returns whether records that look like a tensorflow.Example are decoded as one.
bool has_examples(const RecordSchema& schema);
// Returns whether a decoded record is a tensorflow.Example or SequenceExample: a message of that type, or one that
// looks like it.
bool is_example(const RecordSchema& schema, const Value& value);

// Passes the features of an Example to a writer, as tensorflow::value_of_example() arranges them; floats remain floats.
// Fails with kDamage if the record is no Example, also if it is a SequenceExample, or if a wanted feature has invalid
// values, and with kLimit if it has too many features. Nothing was passed if `is_example` is false. REQUIRES: the
// writer takes scalars. Any thread.
Result<void> visit_example(JsonWriter& writer, Bytes record, const Limits& limits, bool& is_example);

}  // namespace recordfs
