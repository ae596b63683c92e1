// Guesses the content of a log's records from one of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::leveldb_log {

inline constexpr std::string_view kWriteAheadLog = "write-ahead log";
inline constexpr std::string_view kManifest = "manifest";

// Returns kWriteAheadLog if `record` is a write batch to its last byte, kManifest if it is a version edit, "opaque"
// otherwise. Static storage. FORMAT.md, "Content". Any thread.
std::string_view content_of(Bytes record);

// The same for an incomplete record's first piece: kWriteAheadLog, or "unknown".
std::string_view content_of_piece(Bytes piece);

// Which database wrote a record, as far as its tags show it. A higher value is stronger evidence.
enum class Writer : std::uint8_t { kEither, kLevelDb, kRocksDb };

// The word for it in info.json. Static storage.
std::string_view to_string(Writer writer);

// Returns kRocksDb if the record has a tag that only RocksDB writes, and kLevelDb if it has one that only LevelDB
// writes. Returns kEither for a record that is not of this content. Any thread.
Writer writer_of(Bytes record, std::string_view content);

// The same for a record's first piece, if the content is kWriteAheadLog; kEither otherwise.
Writer writer_of_piece(Bytes piece, std::string_view content);

}  // namespace recordfs::leveldb_log
