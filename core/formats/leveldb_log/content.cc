#include "core/formats/leveldb_log/content.h"

#include "core/formats/leveldb_log/version_edit.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {

std::string_view content_of(Bytes record, bool is_whole) {
  if (!is_whole) return begins_write_batch(record) ? kWriteAheadLog : "unknown";
  if (is_write_batch(record)) return kWriteAheadLog;
  return tags_of_edit(record).is_edit ? kManifest : "opaque";
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
  const EditTags tags = tags_of_edit(record);
  return tags.has_rocksdb_tag ? Writer::kRocksDb : tags.has_leveldb_tag ? Writer::kLevelDb : Writer::kEither;
}

}  // namespace recordfs::leveldb_log
