// Encodes and decodes a saved index. Does not access files. README.md describes the layout.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/scan_results.h"

namespace recordfs {

// An index is valid only if every field of its key matches the file.
struct IndexKey {
  std::uint64_t maker = 0;  // hash of what affects a scan: program, format, limits, detail
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_seconds = 0;
  std::int64_t mtime_nanoseconds = 0;
  std::uint64_t first = 0;  // hash of the file's first bytes
  std::uint64_t last = 0;   // hash of the file's last bytes
  bool operator==(const IndexKey&) const = default;
};

struct SavedCatalog {
  IndexKey key;
  CatalogSnapshot snapshot;
};

// REQUIRES: `snapshot` comes from a catalog with the same bounds.
std::string encode_index(const IndexKey& key, const CatalogSnapshot& snapshot);

// Decodes an index, which is untrusted input. A result is within `bounds`, and consistent for a file of the key's size.
// Fails with kDamage, and with kUnsupported for another version.
Result<SavedCatalog> decode_index(Bytes bytes, const CatalogBounds& bounds);

}  // namespace recordfs
