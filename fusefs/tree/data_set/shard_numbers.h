// ShardNumbers: the numbers of the nodes of a data set's shards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fusefs/tree/inode_table.h"

namespace recordfs {

// Each shard has a range of values, which depends only on its place, so the numbers need no table. They are the same in
// every mount of up to 32,767 shards. The range at 0 is the data set's own. Immutable.
class ShardNumbers {
 public:
  // `most`: the largest number of shards.
  explicit ShardNumbers(std::size_t most) : most_(most), bits_(value_bits(most)) {}

  // Returns how many bits the values of a shard's nodes may have. StoreResources::address_bits is one less.
  static unsigned value_bits(std::size_t shards);
  // Returns how many shards a followed data set may have that begins with `shards`: 16 times as many, at least 32,767,
  // and at most kMostShards.
  static std::size_t most_followed(std::size_t shards);

  std::size_t most() const { return most_; }
  int bits() const { return static_cast<int>(bits_); }
  // Returns the begin of a shard's range.
  std::uint64_t begin(std::size_t shard) const { return (shard + std::uint64_t{1}) << bits_; }
  // Returns the number of a shard's directory, which is also its inode number.
  std::uint64_t directory(std::size_t shard) const { return number_in(begin(shard), Node{}); }
  // Returns whether a value is in the data set's own range.
  bool is_own(std::uint64_t value) const { return value >> bits_ == 0; }
  // Returns whether a shard's range has room for values up to `values`.
  bool has_room_for(std::uint64_t values) const { return values >> bits_ == 0; }

 private:
  const std::size_t most_;
  const unsigned bits_;
};

}  // namespace recordfs
