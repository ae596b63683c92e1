#include "fusefs/tree/data_set/shard_numbers.h"

#include <algorithm>
#include <bit>

#include "core/dataset/shard_name.h"

namespace recordfs {
namespace {

constexpr int kLeastShardBits = 15;
constexpr std::size_t kRoomToFollow = 16;  // times as many shards

int bits_for(std::size_t shards) { return std::max(kLeastShardBits, static_cast<int>(std::bit_width(shards))); }

}  // namespace

unsigned ShardNumbers::value_bits(std::size_t shards) { return static_cast<unsigned>(kValueBits - bits_for(shards)); }

std::size_t ShardNumbers::most_followed(std::size_t shards) {
  return std::min<std::size_t>((std::size_t{1} << bits_for(shards * kRoomToFollow)) - 1, kMostShards);
}

}  // namespace recordfs
