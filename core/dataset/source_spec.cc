#include "core/dataset/source_spec.h"

#include "core/base/storage.h"
#include "core/database/database.h"
#include "core/dataset/manifest.h"
#include "core/store/open_container.h"

namespace recordfs {

SourceSpec::Kind SourceSpec::kind() const {
  if (!manifest.empty() || words.size() != 1) return Kind::kDataSet;
  const std::string& word = words.front();
  if (!names_set(word)) return Kind::kContainer;
  if (!is_directory(word)) return Kind::kDataSet;
  return database::is_database(word).value_or(false) ? Kind::kDatabase : Kind::kDirectory;
}

Result<ShardList> SourceSpec::shards() const {
  return manifest.empty() ? list_shards(words, is_container_file) : read_manifest(manifest);
}

}  // namespace recordfs
