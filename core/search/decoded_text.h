// The decoded content of a record as texts to search.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/container.h"
#include "core/search/undecoded_records.h"

namespace recordfs {

// The fields whose values are searched in place of records, and the records that cannot be searched so.
struct SearchedFields {
  const FieldPaths* paths = nullptr;  // null: whole decoded records
  UndecodedRecords* undecoded = nullptr;
  std::string_view path{};         // of the records' file
  std::string_view path_in_set{};  // names the run of its scalars: run_of()
};

// Calls `take` with the decoded record as JSON on one line, or with each value of the fields, which may be columns of
// scalars as for visit_fields(). Returns false if there
// are fields, but the record cannot be decoded, and notes that. Without fields, a record that cannot be decoded has no
// text. Fails as RecordDecoder::document() does otherwise. Thread-safe.
Result<bool> each_decoded_text(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                               Bytes record, const SearchedFields& fields,
                               const std::function<void(std::string_view text)>& take);

}  // namespace recordfs
