// The content of a log's records: write batches, version edits, or neither. FORMAT.md, "Content".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::leveldb_log {

inline constexpr std::string_view kWriteAheadLog = "write-ahead log";
inline constexpr std::string_view kManifest = "manifest";

// Returns kWriteAheadLog if `record` is a write batch to its last byte, kManifest if it is a version edit, "opaque"
// otherwise. Of the first piece of a longer record, returns kWriteAheadLog or "unknown". Static storage. FORMAT.md,
// "Content". Any thread.
std::string_view content_of(Bytes record, bool is_whole = true);

// Which database wrote a record, as far as its tags show it. A higher value is stronger evidence.
enum class Writer : std::uint8_t { kEither, kLevelDb, kRocksDb };

// The word for it in info.json. Static storage.
std::string_view to_string(Writer writer);

// Returns kRocksDb if the record, or its first piece, has a tag that only RocksDB writes, and kLevelDb if it has one
// that only LevelDB writes. Returns kEither for a record that is not of this content, and for a piece of an edit. Any
// thread.
Writer writer_of(Bytes record, bool is_whole, std::string_view content);

}  // namespace recordfs::leveldb_log
