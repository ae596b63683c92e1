// The metadata in effect at a chunk, as members of a decoded record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/value.h"

namespace recordfs {

// Fails as Metadata::attributes() if metadata is damaged that is the same for all records, whose types it has. Succeeds
// if it cannot be read for another reason. `metadata` may be null.
Result<void> check_metadata(const RequestContext& context, const Metadata* metadata);

// Metadata that is short enough to be repeated in each record of a chunk.
struct ChunkMetadata {
  static constexpr std::uint64_t kMostBytes = 4096;  // keys and values together

  std::vector<Attribute> attributes{};  // in the container's order, those that fit
  std::uint64_t omitted = 0;            // attributes that do not fit
  std::string error{};                  // why the metadata cannot be read; empty: it can
};

// Adds the members to an object: "metadata", with a member for each attribute; "other_metadata", a list of the
// attributes whose keys cannot be such members; "metadata_omitted", a number; "metadata_error". Adds only those that
// have content. `metadata` must outlive the object.
void add_metadata(const ChunkMetadata& metadata, Value::Object& members);

// Reads the metadata of chunks, and caches that of a few. Thread-safe.
class ChunkMetadataReader {
 public:
  // `metadata`, which may be null, must outlive the reader.
  explicit ChunkMetadataReader(const Metadata* metadata)
      : metadata_(metadata != nullptr && metadata->varies() ? metadata : nullptr) {}

  // Returns the metadata in effect at a chunk; null if it is the same for the whole container. Fails with the transient
  // errors of Metadata::attributes_at().
  Result<std::shared_ptr<const ChunkMetadata>> at(const RequestContext& context, const ChunkInfo& chunk) const;

 private:
  static constexpr std::size_t kRecentChunks = 16;

  const Metadata* const metadata_;
  mutable BoundedLru<Position, std::shared_ptr<const ChunkMetadata>> recent_{kRecentChunks};
};

}  // namespace recordfs
