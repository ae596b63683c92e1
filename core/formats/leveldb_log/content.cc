#include "core/formats/leveldb_log/content.h"

#include "core/formats/leveldb_log/version_edit.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {

std::string_view content_of(Bytes record) {
  if (is_write_batch(record)) return kWriteAheadLog;
  if (is_version_edit(record)) return kManifest;
  return "opaque";
}

std::string_view content_of_piece(Bytes piece) { return begins_write_batch(piece) ? kWriteAheadLog : "unknown"; }

std::string_view to_string(Writer writer) {
  switch (writer) {
    case Writer::kEither: return "leveldb or rocksdb";
    case Writer::kLevelDb: return "leveldb";
    case Writer::kRocksDb: return "rocksdb";
  }
  return "leveldb or rocksdb";
}

Writer writer_of(Bytes record, std::string_view content) {
  const bool is_batch = content == kWriteAheadLog && is_write_batch(record);
  if (is_batch && has_rocksdb_operation(record)) return Writer::kRocksDb;
  if (content != kManifest) return Writer::kEither;
  const EditTags tags = tags_of_edit(record);
  if (!tags.is_edit) return Writer::kEither;
  return tags.has_rocksdb ? Writer::kRocksDb : tags.has_leveldb ? Writer::kLevelDb : Writer::kEither;
}

Writer writer_of_piece(Bytes piece, std::string_view content) {
  const bool is_batch = content == kWriteAheadLog && begins_write_batch(piece);
  return is_batch && has_rocksdb_operation(piece) ? Writer::kRocksDb : Writer::kEither;
}

}  // namespace recordfs::leveldb_log
