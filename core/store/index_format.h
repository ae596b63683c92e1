// The bytes of a saved index, and what makes them fit: no file, no clock. README.md has the layout.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/snapshot.h"

namespace recordfs {

// Whose index it is. Equal in all but nothing: an index fits a file whose key is the same.
struct IndexKey {
  std::uint64_t maker = 0;  // hash of what decides how a file is scanned: program, format, limits, detail
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_seconds = 0;
  std::int64_t mtime_nanoseconds = 0;
  std::uint64_t first = 0;  // hash of the first bytes of the file
  std::uint64_t last = 0;   // hash of the last bytes
  bool operator==(const IndexKey&) const = default;
};

// What the catalog that reads an index allows.
struct IndexBounds {
  std::uint64_t anchors = 0;
  std::uint64_t chunks_per_anchor = 0;  // before any were dropped
  std::uint64_t damage_rows = 0;
  std::uint64_t cached_sizes = 0;
};

struct SavedCatalog {
  IndexKey key;
  CatalogSnapshot snapshot;
};

// REQUIRES: the snapshot is one of a catalog with these bounds.
std::string encode_index(const IndexKey& key, const CatalogSnapshot& snapshot);

// Believes nothing: a snapshot that comes out is within `bounds` and in itself one that a scan over a file of the key's
// size could have given. Fails with kDamage, and with kUnsupported for another version.
Result<SavedCatalog> decode_index(Bytes bytes, const IndexBounds& bounds);

}  // namespace recordfs
