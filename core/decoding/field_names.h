// The names of the fields that records have.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/decoding/record_decoder.h"

namespace recordfs {

// Returns the name of the column at a path: of a feature of a tensorflow.Example or SequenceExample its own name, which
// FieldPaths accepts too, and otherwise the path.
std::string column_name(std::string path);

// Returns the paths of the values in a JSON document, without the names that FieldPaths adds to those of features. At
// most 4,096; none if it is not JSON.
std::set<std::string> field_names(std::string_view document);

// Adds the names of a record's fields to `fields`, if these are wanted, and if it is small and can be decoded.
// Thread-safe.
void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields);

}  // namespace recordfs
