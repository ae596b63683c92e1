// The names of the fields that records have.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/decoding/record_decoder.h"

namespace recordfs {

// Returns the name of the column at a path in a tensorflow.Example or SequenceExample: the feature's own name.
std::string feature_name(std::string path);

// Returns that no record has a field of this name, and the nearest of those that some have, or that one of these is the
// value that the name leads into. Thread-safe.
std::string no_field(std::string_view name, const std::set<std::string>& present);

// If names of fields are wanted, adds those of a record to `fields`, at most 4,096, if it is small and can be decoded,
// and declares those that the type of the records has. Thread-safe.
void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields);

}  // namespace recordfs
