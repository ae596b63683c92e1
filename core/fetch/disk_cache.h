// Blocks of objects on disk, shared by all fetchers of a user.
//
// Each version of an object has a sparse file of its own, named by a hash: a header, a checksum for each block, and the
// blocks. A checksum of 0 says that the block is missing. Readers use a block only if its checksum matches, so a writer
// may be killed at any time, and several may write the same file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/fetch/block_sums.h"

namespace recordfs::fetch {

class DiskCache;

// The blocks of one version of an object. The cache must outlive it. Not thread-safe.
class CachedObject {
 public:
  // Fills `out` with a block. Returns false if it is missing or damaged; `out` may be changed then. REQUIRES: `out` has
  // the size of the block, which is kBlock but for the last one.
  bool read(std::uint64_t block, MutableBytes out);
  // Stores the blocks that `sums` has, among `bytes`, which begin at `begin` of the object. Failures are ignored.
  void write(std::uint64_t begin, Bytes bytes, const BlockSums& sums);
  // Does a part of what write() does: returns whether there is room for `bytes` more.
  bool make_room(std::uint64_t bytes);
  // Does the other part: stores a block with the checksum `sum`, among `bytes`. Returns whether that has not failed.
  // Safe for a thread while others use other functions.
  bool store(std::uint64_t block, std::uint64_t sum, std::uint64_t begin, Bytes bytes) const;

  // Returns how many bytes the block has. REQUIRES: it is one of the object's.
  std::uint64_t size_of(std::uint64_t block) const;
  // Returns the number of the blocks.
  std::uint64_t blocks() const;

 private:
  friend class DiskCache;
  CachedObject(DiskCache& cache, Descriptor file, std::uint64_t size);

  std::uint64_t place_of(std::uint64_t block) const;

  DiskCache& cache_;
  Descriptor file_;
  std::uint64_t size_;
};

// Not thread-safe; safe for several processes.
class DiskCache {
 public:
  static constexpr std::uint64_t kDefaultLimit = 2ull << 30;

  // Opens the cache in a folder, which it makes with mode 0700 if need be. Fails with kIo, also if the folder belongs
  // to another user. `limit`: bytes that it may take.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& folder, std::uint64_t limit);

  // Returns the blocks of a version of an object of `size` bytes; null if there can be none. `name` and `version` have
  // no secrets, and the same bytes always.
  std::shared_ptr<CachedObject> object(const std::string& name, const std::string& version, std::uint64_t size);

  int folder() const { return folder_.number(); }

 private:
  friend class CachedObject;
  DiskCache(Descriptor folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // Returns whether an object may take more room, and makes room by removing the files used least recently.
  bool make_room(int file, std::uint64_t bytes);
  void remove_oldest();
  Descriptor open_file(const std::string& name, Bytes header);

  Descriptor folder_;
  std::uint64_t limit_;
  std::uint64_t written_ = 0;  // since the folder was examined
  bool was_examined_ = false;
  bool is_full_ = false;  // the filesystem is
};

// Returns the folder of the cache by default: blocks below XDG_CACHE_HOME or HOME; empty: there is none.
std::string default_cache_folder();

}  // namespace recordfs::fetch
