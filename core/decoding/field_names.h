// The names of the fields that records have.
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/decoding/record_decoder.h"

namespace recordfs {

// Returns the name of the column at a path in a tensorflow.Example or SequenceExample, which FieldPaths accepts too:
// the feature's own name, unless that would be a path itself.
std::string feature_name(std::string path);

// Adds the names of a record's fields to `fields`, at most 4,096, if these are wanted, and if it is small and can be
// decoded.
// Thread-safe.
void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields);

}  // namespace recordfs
