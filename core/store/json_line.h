// A record as a line of JSON, as commands write it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "core/store/selection.h"

namespace recordfs {

// Names a record by its ordinal, or by "chunk" and "index" if the records before it are not counted.
using RecordName = std::variant<std::uint64_t, RecordAddress>;

// Appends the begin of such a line: the members before the record's bytes. `file` and `shard` are omitted if they are
// empty.
void append_json_line_head(std::string& line, const RecordName& name, std::uint64_t size, std::string_view shard = {},
                           std::string_view file = {});
// Returns it.
std::string json_line_head(const RecordName& name, std::uint64_t size, std::string_view shard = {},
                           std::string_view file = {});

// What of a record is in its line.
struct JsonLineOptions {
  bool has_record = true;                      // its own bytes
  ByteForm bytes = ByteForm::kAuto;            // of these, and of decoded content
  std::shared_ptr<const FieldPaths> fields{};  // in the decoded content; null: all of it
};

// Appends the members of the decoded record, as RecordDecoder::append_members() does, of which only some fields are
// wanted. Fails in the same way.
Result<void> append_decoded(std::string& line, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                            const JsonLineOptions& options);

// Appends {"ordinal":42,"size":5,"text":"hello"}, with the members that `decoder` adds, and a newline. Uses "base64"
// instead of "text" if the record is not UTF-8. On failure appends nothing. Fails as RecordDecoder::append_members.
// Thread-safe.
Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk, std::string_view shard = {}, const JsonLineOptions& options = {});

}  // namespace recordfs
