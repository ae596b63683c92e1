// JoinedStreams: all records of a data set as one long file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/store/shared_cache.h"
#include "fusefs/tree/joined/joined_shards.h"

namespace recordfs {

// The streams of the shards, one after another. A shard that cannot be opened takes one byte, and reading that fails,
// so that its absence shows. Thread-safe. Keeps 8 bytes per shard for each stream that was used.
class JoinedStreams {
 public:
  // `shards` must outlive this.
  explicit JoinedStreams(JoinedShards& shards) : shards_(shards) {}

  // Returns the size of kConcat or kLines in bytes. kPending until all shards of JoinedShards::sizes() are scanned for
  // sizes.
  Result<std::uint64_t> size(Stream stream);
  // Returns up to `length` bytes from `offset`, fewer only at the end. Fails if anything in the range is unreadable, as
  // StreamReader::read() and JoinedShards::container(). kPending.
  Result<Slice> read(const RequestContext& context, Stream stream, std::uint64_t offset, std::uint64_t length);

 private:
  // Where each shard begins, and where the last one ends.
  using Begins = std::shared_ptr<const std::vector<std::uint64_t>>;
  // A part of a stream within one shard.
  struct Part {
    std::size_t shard = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t whole = 0;  // size of the shard's stream
  };

  // Streams of shards up to this size are cached as a whole, so that a READ of many tiny shards can continue where it
  // had to wait although their containers are closed meanwhile.
  static constexpr std::uint64_t kSmallShard = 128u << 10;

  Result<Begins> begins(Stream stream, std::uint64_t until);
  Result<Slice> read_part(const RequestContext& context, Stream stream, const Part& part);
  Result<Slice> read_shard(const RequestContext& context, Stream stream, const Part& part);

  JoinedShards& shards_;
  SharedCache<CachedBytes> small_shards_{4u << 20};
  std::mutex mutex_;  // guards the following
  Begins concat_;
  Begins lines_;
};

}  // namespace recordfs
