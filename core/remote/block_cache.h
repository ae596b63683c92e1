// Blocks of remote objects in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/bounded_lru.h"
#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs::remote {

// Consecutive bytes of an object: kBlock of them, or fewer at its end.
using BlockPtr = std::shared_ptr<const Buffer>;

// Drops the blocks that were not used for the longest time. Thread-safe.
class BlockCache {
 public:
  // Keeps at most `bytes`, but at least one block.
  explicit BlockCache(std::uint64_t bytes) : bytes_(bytes), blocks_(SIZE_MAX, bytes), numbers_(kMostNumbers) {}

  std::uint64_t capacity() const { return bytes_; }

  // Returns the number of an object in this state, which no other object or state has.
  std::uint64_t number_of(const std::string& name, const std::string& version);

  // Returns a block of the object with this number; null if it is not in memory.
  BlockPtr find(std::uint64_t number, std::uint64_t block) {
    auto found = blocks_.find({number, block});
    return found ? std::move(*found) : nullptr;
  }
  // Throws std::bad_alloc.
  void add(std::uint64_t number, std::uint64_t block, BlockPtr bytes) {
    const std::size_t size = bytes->size();
    blocks_.add({number, block}, std::move(bytes), size);
  }

 private:
  static constexpr std::size_t kMostNumbers = 16384;

  const std::uint64_t bytes_;
  BoundedLru<std::pair<std::uint64_t, std::uint64_t>, BlockPtr> blocks_;
  BoundedLru<std::string, std::uint64_t> numbers_;
  std::atomic<std::uint64_t> last_number_{0};
};

}  // namespace recordfs::remote
