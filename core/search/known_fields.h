// Whether records have fields of the type that a user names for them. Protobuf skips fields that a type lacks, so a
// message of another type is one without fields.
#pragma once

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/decoding/descriptor_set.h"
#include "core/store/record_store.h"

namespace recordfs {

// Fails with kUnsupported if the records of the first chunk are messages, and have fields, but none of these is a field
// of the user's type with its wire type. Succeeds for other records, which decoding fails for, and if the user's types
// name no type of all records, or one without fields. Reads the first chunk, and at most 1,024 records of it.
// Thread-safe.
Result<void> check_known_fields(const RequestContext& context, const RecordStore& store, const UserTypes& types);

}  // namespace recordfs
