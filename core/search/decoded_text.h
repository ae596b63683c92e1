// The decoded content of a record as texts to search.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/container.h"

namespace recordfs {

// Calls `take` with the decoded record as JSON on one line, or, unless `fields` is null, with each value of these
// fields. Calls nothing if the record has no decoded form. Fails as RecordDecoder::document() does, but not if the
// record cannot be decoded. Thread-safe.
Result<void> each_decoded_text(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                               Bytes record, const FieldPaths* fields,
                               const std::function<void(std::string_view text)>& take);

}  // namespace recordfs
