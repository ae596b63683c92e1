// Stores the result of a scan in a file for the next mount.
//
// Only an optimization: an index that is unreadable, not owned by the user, or does not match is ignored. A failed
// write is one line in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/store/log.h"
#include "core/store/scanner.h"

namespace recordfs {

// An index is valid only if every field of its key matches the file.
struct IndexKey {
  std::uint64_t producer_hash = 0;  // hash of what affects a scan: program, limits, detail
  std::uint64_t format = 0;         // hash_of_format()
  // Hashes of the parts of the source's id. The touch is not compared; 0: not known.
  std::uint64_t source = 0;
  std::uint64_t version = 0;
  std::uint64_t touch = 0;
  std::uint64_t size = 0;   // bytes
  std::uint64_t first = 0;  // hash of the source's first bytes
  std::uint64_t last = 0;   // hash of the source's last bytes
  bool operator==(const IndexKey& other) const;
};

struct SavedCatalog {
  IndexKey key;
  CatalogSnapshot snapshot;
};

// Returns the hash by which an index names a format.
std::uint64_t hash_of_format(std::string_view format);

// Encodes an index. SAVED_INDEX.md describes the layout. REQUIRES: `snapshot` comes from a catalog with the same
// bounds.
std::string encode_index(const IndexKey& key, const CatalogSnapshot& snapshot);

// Decodes an index, which is untrusted input. A result is within `bounds`, and consistent for a file of the key's size.
// Fails with kDamage, and with kUnsupported for another version.
Result<SavedCatalog> decode_index(Bytes bytes, const CatalogBounds& bounds);

// Hashes the first bytes of a source, and the last ones before the key's size. Returns false if they cannot be read.
// Reads nothing if the source has a portable version, which is one of its bytes: then the hashes are 0.
bool hash_ends(const RequestContext& context, const Source& source, IndexKey& key);

struct IndexFile;

// Where indexes are saved, and which scans.
struct IndexLocation {
  std::string directory;  // absolute; created on the first write
  std::string settings;   // hashed into the name: options that affect a scan
  std::chrono::milliseconds least_scan_time{200};
  std::string program{};  // identifies the scanning program; another one's index is replaced
  // An index file that the user has named; null: none.
  std::shared_ptr<const IndexFile> named{};
  bool looks_beside = true;  // for an index file beside a remote source
};

// Creates the directory and its parent if they are missing. Ignores failures. Any thread.
void make_directory(const IndexLocation& location);

// What a saved index has of a whole file.
struct SavedTotals {
  std::uint64_t format = 0;  // hash_of_format()
  std::uint64_t size = 0;    // bytes of the file
  PrefixSums sums{};
  bool sizes_known = false;  // otherwise sums.bytes may be too small
  std::uint64_t damaged_regions = 0;
};

// Returns the saved totals of a source without opening it: only if nothing, its permissions and names included, has
// been changed since the scan, as far as the id's touch shows. nullopt otherwise, and if nothing is saved. Reads only
// the beginning of the index. Thread-safe.
std::optional<SavedTotals> saved_totals(const RequestContext& context, const IndexLocation& location,
                                        const SourceId& source, ScanDetail detail);

// Returns the hash of the format that an earlier scan found in a source whose version is one of its bytes; nullopt if
// nothing is saved. Reads as little as saved_totals(). Thread-safe.
std::optional<std::uint64_t> saved_format(const RequestContext& context, const IndexLocation& location,
                                          const SourceId& source);

// A file that is not open yet, as its saved index describes it.
struct SavedPlace {
  std::uint64_t size = 0;     // bytes of the file
  std::uint64_t format = 0;   // hash_of_format()
  std::uint64_t records = 0;  // of the file
  // The bytes that a search for the record reads; none if no record is searched for, or its place is not known.
  Position begin = 0;
  Position end = 0;
};

// Returns what the saved index of a source, or the index file that the user has named, has of the file and of a record;
// nullopt if there is none. The source may be another version by now, which only its id tells. `source`:
// SourceId::source. Thread-safe.
std::optional<SavedPlace> saved_place(const RequestContext& context, const IndexLocation& location,
                                      const std::string& source, std::optional<std::uint64_t> ordinal);

// The saved index of one catalog. Not thread-safe, except for remove().
class SavedIndex {
 public:
  // `source` must outlive this. `format` is the container's.
  SavedIndex(IndexLocation location, const Source& source, std::string_view format, ScanDetail detail,
             CatalogBounds bounds, Log log);

  struct Loaded {
    CatalogSnapshot snapshot;
    bool has_grown = false;  // the snapshot is of the file before something was appended
  };
  // Returns what was saved of this file, or of the file before it grew; nullopt if there is none. Saves it again if
  // only the touch of its id differs. If nothing was saved, returns what the index file that the user has named has of
  // this file, or the one beside a remote source. Must be called when a scan begins, or else write() does nothing: a
  // file that is modified at that time must not be saved.
  std::optional<Loaded> read(const RequestContext& context);

  // Saves the snapshot of a scan that took `scanned`. Does nothing if the scan was short, or read() could not identify
  // the file's state.
  void write(const RequestContext& context, const CatalogSnapshot& snapshot,
             std::chrono::steady_clock::duration scanned);

  // Returns the snapshot of a scan as a part of an index file. Fails with kUnsupported if the source has no version
  // that the index could name, or was modified when the scan began, with kLimit, and like Source::read_at(). REQUIRES:
  // read() was called.
  Result<std::string> part_of_file(const RequestContext& context, const CatalogSnapshot& snapshot) const;

  // Returns the path that read() reads and write() replaces. REQUIRES: read() was called.
  std::string path() const { return location_.directory + "/" + file_name(); }

  // Removes an index that is wrong, or logs that an index file is. Any thread, after read() has returned.
  void remove() const;

 private:
  std::string file_name() const;
  std::optional<Loaded> read_own(const RequestContext& context) const;
  std::optional<Loaded> look_for_index_file(const RequestContext& context);
  Result<CatalogSnapshot> taken_from(const RequestContext& context, const IndexFile& file) const;
  IndexKey portable_key() const;
  std::optional<std::string> try_write(const std::string& bytes) const;

  const IndexLocation location_;
  const Source& source_;
  const CatalogBounds bounds_;
  const Log log_;
  const std::uint64_t settings_hash_;  // hash of settings and detail
  IndexKey key_;                       // without the hashes of the file, which are computed when needed
  bool is_settled_ = false;            // key_ is set, and any later change to the file changes it
  std::string portable_version_;       // of the source's id
  std::string index_file_;             // that read() has used; empty: none
};

}  // namespace recordfs
