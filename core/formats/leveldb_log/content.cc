#include "core/formats/leveldb_log/content.h"

#include <algorithm>

#include "core/formats/leveldb_log/version_edit.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {

std::string_view content_of(Bytes record, bool is_whole) {
  if (!is_whole) return begins_write_batch(record) ? kWriteAheadLog : "unknown";
  if (is_write_batch(record)) return kWriteAheadLog;
  // RocksDB writes edits without a change, but an empty record is no evidence for one.
  return !record.empty() && parse_edit(record, {}) ? kManifest : "opaque";
}

std::string_view to_string(Writer writer) {
  switch (writer) {
    case Writer::kEither: return "leveldb or rocksdb";
    case Writer::kLevelDb: return "leveldb";
    case Writer::kRocksDb: return "rocksdb";
  }
  return "leveldb or rocksdb";
}

Writer writer_of(Bytes record, bool is_whole, std::string_view content) {
  if (content == kWriteAheadLog) {
    const bool is_batch = is_whole ? is_write_batch(record) : begins_write_batch(record);
    return is_batch && has_rocksdb_operation(record) ? Writer::kRocksDb : Writer::kEither;
  }
  if (!is_whole || content != kManifest) return Writer::kEither;
  const Edit edit = parse_edit(record, {}).value_or(Edit());
  if (std::ranges::any_of(edit, [](const Change& change) { return change.tag > kLastTagOfLevelDb; })) {
    return Writer::kRocksDb;
  }
  const bool is_of_leveldb = std::ranges::find(edit, kNewFileOfLevelDb, &Change::tag) != edit.end();
  return is_of_leveldb ? Writer::kLevelDb : Writer::kEither;
}

}  // namespace recordfs::leveldb_log
