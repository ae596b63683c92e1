#include "fusefs/tree/joined/shard_numbers.h"

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

std::optional<InodeTable::ResolvedInode> ShardNumbers::resolve(std::uint64_t number, std::size_t shards) const {
  const std::uint64_t value = number % kValuesOfAKind;
  const std::uint64_t place = value >> bits_;
  if (node_kind(number) >= NodeKind::kComputedEnd || place == 0 || place > shards) return std::nullopt;
  const std::uint64_t in_shard = value - (place << bits_);
  return InodeTable::ResolvedInode{place - 1, {node_kind(number), in_shard}};
}

bool ShardNumbers::is_own(std::uint64_t number) const {
  return node_kind(number) < NodeKind::kComputedEnd && (number % kValuesOfAKind) >> bits_ == 0;
}

}  // namespace recordfs
