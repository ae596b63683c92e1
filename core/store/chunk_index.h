// Where the chunks of one container are: by byte, by ordinal, and in scan order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/store/catalog.h"
#include "core/store/damage_log.h"
#include "core/store/stored_file.h"

namespace recordfs {

// Uses the format's seek structure, and otherwise a Catalog, whose scan starts when something waits for it. A second
// one scans for decoded sizes if the first does not find them. Each scans in its own thread. Thread-safe. "kPending"
// below means that the scan has not reached the answer: see Error::wait. Failures are logged.
class ChunkIndex {
 public:
  // `shorter`: the index of the same file when it was shorter, whose results are taken over; null: none. It need not
  // outlive the constructor; the others must outlive this.
  ChunkIndex(const StoredFile& file, DamageLog& log, Catalog::Bounds bounds, const ChunkIndex* shorter);

  // Returns the chunk that begins at `begin`, and the chunk that covers byte `at`. kNotFound, kPending.
  Result<ChunkInfo> chunk_at(const RequestContext& context, Position begin) const;
  Result<ChunkInfo> chunk_covering(const RequestContext& context, Position at) const;
  // Returns the chunk in which `value` falls along `search_key`: kChunks is its number in scan order, kRecords an
  // ordinal. Of the sums before a chunk that an ordinal finds, only the records are certain: it may come from the
  // format's seek structure. kNotFound, kPending.
  Result<IndexedChunk> find(const RequestContext& context, SearchKey search_key, std::uint64_t value) const;
  // Returns the place in scan order of a chunk that a Container has returned. kNotFound, kPending.
  Result<IndexedChunk> place_of(const RequestContext& context, const ChunkInfo& chunk) const;
  // Returns the first chunk with records; nullopt if the first few steps of the scan find none. Never reads the whole
  // file.
  Result<std::optional<ChunkInfo>> first_with_records(const RequestContext& context) const;
  // Returns the next chunk with records; nullopt if there is none among the next few, or it cannot be found now.
  std::optional<ChunkInfo> next_with_records(const RequestContext& context, const ChunkInfo& chunk) const;

  // Returns what the scan has counted so far.
  Catalog::ScanState state() const { return catalog_.state(); }
  // Returns whether a scan is running.
  bool is_scanning() const;
  // Succeeds once the scans that were complete in `shorter` are complete here. kPending until then.
  Result<void> catch_up() const;
  // Returns the sums over the whole container. kCounts is cheaper, and does not include all decoded sizes. kPending.
  Result<PrefixSums> totals(ScanDetail detail) const;
  // Returns the sums, and the number of damaged regions. Lets none of these be reported. kPending.
  Result<Catalog::Counted> counted(ScanDetail detail) const;
  // Returns the damaged regions in scan order. kPending.
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage() const;

  // Returns a scan from the beginning or from a chunk on, which the caller runs on its own thread. Without
  // `make_layout`, makes layouts as the index does.
  Scanner scanner(ScanDetail detail, const std::optional<IndexedChunk>& from = {}, MakeLayout make_layout = {}) const;
  // Returns the saved index for scans of this detail; null if nothing is saved.
  std::unique_ptr<SavedIndex> saved(ScanDetail detail) const;
  // Returns the results of the scan that counts records, or of the one that also finds their sizes; nullopt until it is
  // complete, and if there is no scan of its own for sizes.
  std::optional<CatalogSnapshot> snapshot(ScanDetail detail) const;
  // Call it if a chunk does not match the index.
  void invalidate() const;

 private:
  Result<IndexedChunk> locate_record(const RequestContext& context, std::uint64_t ordinal, Error pending) const;
  Catalog& sizes() const;
  Catalog* sizes_if_made() const;
  std::unique_ptr<Catalog> new_sizes(std::optional<CatalogSnapshot> shorter) const;

  static constexpr std::size_t kLocatedChunks = 256;

  const StoredFile& file_;
  DamageLog& log_;
  const Catalog::Bounds bounds_;
  bool knows_counts_ = false;  // `shorter` did
  bool knows_sizes_ = false;
  mutable BoundedLru<Position, ChunkInfo> located_{kLocatedChunks};  // found by the seek structure
  mutable std::mutex recent_mutex_;                                  // guards the next
  mutable std::optional<IndexedChunk> recent_;                       // found last by an ordinal
  mutable std::mutex mutex_;                                         // guards the next
  mutable std::unique_ptr<Catalog> sizes_;                           // made if catalog_ does not know all sizes
  mutable Catalog catalog_;                                          // declared after everything that its thread uses
};

}  // namespace recordfs
