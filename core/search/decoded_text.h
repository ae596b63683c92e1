// The decoded content of a record as a text to search.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/container.h"

namespace recordfs {

// Returns the decoded record as JSON on one line, or what json_text_at() finds of it at `field`, unless that is empty.
// Returns nullopt if the record has no decoded form, or no such field. Fails as RecordDecoder::document() does, but not
// if the record cannot be decoded. Thread-safe.
Result<std::optional<std::string>> decoded_text(const RequestContext& context, const RecordDecoder& decoder,
                                                const ChunkInfo& chunk, Bytes record, std::string_view field);

}  // namespace recordfs
