// Checksums of the blocks of an object, computed as its bytes arrive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/base/bytes.h"
#include "core/hash/xxhash.h"
#include "core/remote/protocol.h"

namespace recordfs::fetch {

// Returns the checksum of a block. It covers the block's number, and is never 0. Thread-safe.
std::uint64_t block_sum(std::uint64_t block, Bytes bytes);

// The memory that a client shares could be changed by it before it is cached. So the checksums are those of the bytes
// that the network delivered. Not thread-safe.
class BlockSums {
 public:
  // For bytes from `begin` on.
  explicit BlockSums(std::uint64_t begin) : at_(begin) {}

  void append(Bytes bytes);
  // The object ends here.
  void end();
  // Forgets everything; nothing that is appended later has a checksum.
  void give_up();

  // Returns the checksums of the blocks that were appended as a whole, by their numbers.
  const std::map<std::uint64_t, std::uint64_t>& sums() const { return sums_; }

 private:
  void complete();

  std::uint64_t at_;
  std::optional<XxHasher> hasher_{};  // of the block that at_ is in
  std::map<std::uint64_t, std::uint64_t> sums_{};
  bool has_given_up_ = false;
};

}  // namespace recordfs::fetch
