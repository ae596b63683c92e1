// Which fields of records the values at some paths come from, so that a reader may leave out the others
// (Container::decode_fields). All functions are thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/request_context.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/message_schema.h"
#include "core/formats/field_projection.h"
#include "core/store/record_store.h"

namespace recordfs {

// Adds the field that a path of FieldPaths leads to in a message with these fields, and the fields that exclude it.
// Where a path may lead through names that are no fields, as in a map, adds all of that. Returns false, and adds
// nothing, if there is no such field, so that the whole message is needed.
bool add_wanted_field(const std::vector<MessageField>& message, std::string_view path, FieldProjection& wanted);

// Adds the fields that the values at these paths come from when RecordDecoder decodes the records of a store with the
// user's types. Returns false if all fields may be needed: the records are of another kind, their type is unknown, or a
// path leads nowhere. May read the first chunk.
bool add_wanted_fields(const RequestContext& context, const RecordStore& store, const UserTypes& types,
                       const std::vector<std::string>& paths, FieldProjection& wanted);
// Returns these fields; nullopt if all may be needed.
std::optional<FieldProjection> wanted_fields(const RequestContext& context, const RecordStore& store,
                                             const UserTypes& types, const std::vector<std::string>& paths);

// Returns whether a chunk that was decoded for some fields may lack others, so that it has to be decoded again for
// them.
inline bool may_lack_fields(const ChunkInfo& info, const Chunk& decoded) {
  return info.decoded_size && decoded.payload_size() < *info.decoded_size;
}

}  // namespace recordfs
