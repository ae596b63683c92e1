// Scans parts of a container again: between two anchors, and to check results of an earlier scan.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/source.h"
#include "core/store/scan_results.h"

namespace recordfs {

// The chunks of an interval.
struct Interval {
  IndexedChunks chunks;
  std::uint64_t memory() const { return chunks.capacity() * sizeof(IndexedChunk); }
};

// Thread-safe. What it refers to must outlive it.
struct Rescan {
  const Container& container;
  const Source& source;
  const ScanDetail detail;
  const MakeLayout& make_layout;
  const std::uint64_t chunks_per_anchor;

  // Returns the chunks of an interval. `cached_sizes` are trusted. Fails with kChanged if the sums differ, and like
  // Scanner::step().
  Result<std::shared_ptr<const Interval>> interval(const Anchor& from, const PrefixSums& until,
                                                   std::vector<CachedSizes> cached_sizes) const;

  // Returns whether a scan of the grown file would reach the last anchor as the earlier scan did.
  bool can_continue_from(const CatalogSnapshot& snapshot) const;
  // Removes what may differ in the longer file: the interval after the last anchor, and anchors inside damage. All
  // remaining damage is before an anchor. Returns false if nothing remains.
  bool cut_back(CatalogSnapshot& snapshot) const;

 private:
  bool leads_to(const Anchor& from, const Anchor& to, std::vector<CachedSizes> cached_sizes) const;
  bool has_same_damage(const CatalogSnapshot& snapshot) const;
};

}  // namespace recordfs
