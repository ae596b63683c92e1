// Names of files that say which part of how many they are: NAME-00017-of-00128.EXT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs {

// A data set has at most so many shards, present or missing.
inline constexpr std::uint64_t kMostShards = std::uint64_t{1} << 20;

// What all shards of one set have in common. `prefix` includes the directory and the hyphen: "dir/train-".
struct ShardFamily {
  std::string prefix;
  std::uint64_t total = 0;
  std::string total_digits;  // as spelled: "00128"
  std::string suffix;        // ".tfrecord", or empty
  std::string packing{};     // ".gz" or ".zlib" after it, or empty: one set may have both, so it is not compared
  bool operator==(const ShardFamily& other) const {
    return prefix == other.prefix && total_digits == other.total_digits && suffix == other.suffix;
  }

  // Returns "dir/train-00017-of-00128.tfrecord". The number has at least `width` digits.
  std::string path(std::uint64_t number, std::size_t width) const;
  // Returns "dir/train-?????-of-00128.tfrecord", which names all shards.
  std::string wildcard(std::size_t width) const;
};

// Returns the decimal digits of a number, at least `width`.
std::string shard_digits(std::uint64_t number, std::size_t width);

// The path of one shard, taken apart.
struct ShardName {
  ShardFamily family;
  std::uint64_t number = 0;  // may be `total` or more
  std::size_t width = 0;     // digits of the number
};

// Parses "dir/train-00017-of-00128.tfrecord". The last such numbers of the file name count. Returns nullopt if it is
// not of this form, if the total is 0, or if a number is 10^15 or more. The total may exceed kMostShards.
std::optional<ShardName> parse_shard_name(std::string_view path);

// Parses "dir/train@128.tfrecord": the family of the shards train-00000-of-00128.tfrecord to
// train-00127-of-00128.tfrecord. Numbers have five digits, or more if the total has. Returns nullopt as above.
std::optional<ShardFamily> parse_sharded_spec(std::string_view text);

// Parses "dir/train-?????-of-00128.tfrecord" likewise: any number of question marks. No other part may be a wildcard.
std::optional<ShardName> parse_sharded_wildcard(std::string_view text);

}  // namespace recordfs
