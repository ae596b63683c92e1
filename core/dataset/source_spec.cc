#include "core/dataset/source_spec.h"

#include "core/base/storage.h"
#include "core/database/database.h"
#include "core/dataset/manifest.h"
#include "core/store/open_container.h"

namespace recordfs {

namespace {

// Hints that a file is opened next, and the chunk that begins here read.
void expect_reads_at(const Location& file, Position begin) {
  constexpr std::uint64_t kHead = 64u << 10;  // what formats read when they open a file
  // Most chunks need less. The rest of a larger one is another request.
  constexpr std::uint64_t kChunk = 512u << 10;
  if (begin <= kHead || begin > UINT64_MAX / 2) return;
  file.storage().expect_reads(file, [&](const std::string&) {
    return std::vector<ByteRange>{{begin, begin + kChunk}, {0, kHead}};
  });
}

}  // namespace

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

void SourceSpec::expect(const std::variant<OrdinalRange, RecordAddress>& range, const StoreResources& resources) const {
  if (!manifest.empty()) return;
  if (const auto* const address = std::get_if<RecordAddress>(&range)) {
    if (words.size() == 1 && address->shard.empty()) expect_reads_at(Location(words.front()), address->begin);
    return;
  }
  const auto& ordinals = std::get<OrdinalRange>(range);
  if (ordinals.counts_from_end()) return;
  const std::uint64_t first = span_of(ordinals, 0).begin;
  if (words.size() == 1) return expect_open({}, Location(words.front()), first, resources);
  expect_open_among({}, words, first, resources);
}

}  // namespace recordfs
