// Writes records as lines of JSON, one object per line.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "fusefs/commands/range.h"

namespace recordfs {

// Names a record by its ordinal, or by "chunk" and "index" if the records before it are not counted.
using RecordName = std::variant<std::uint64_t, RecordAddress>;

// Appends {"ordinal":42,"size":5,"text":"hello"}, with the members that `decoder` adds, and a newline. Uses "base64"
// instead of "text" if the record is not UTF-8. On failure appends nothing. Fails as RecordDecoder::append_members.
// Thread-safe.
Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk);

// Appends `"ordinal":42` or `"chunk":65536,"index":3`. Thread-safe.
void append_json_name(std::string& text, const RecordName& name);

}  // namespace recordfs
