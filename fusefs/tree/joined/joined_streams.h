// JoinedStreams: all records of a data set as one long file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/store/shared_cache.h"
#include "fusefs/tree/joined/joined_shards.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// The streams of the shards, one after another. A shard that cannot be opened takes one byte, and reading that fails,
// so that its absence shows. Thread-safe. Keeps 8 bytes per shard for each stream that was used.
class JoinedStreams final : public View {
 public:
  // Both must outlive this.
  JoinedStreams(const NodeTree& nodes, JoinedShards& shards) : View(nodes), shards_(shards) {}

  // kPending until all shards of JoinedShards::sizes() are scanned for sizes.
  Result<std::uint64_t> size(const RequestContext& context, Node file) const override;
  // Fails if anything in the range is unreadable, as StreamReader::read() and JoinedShards::container(). kPending.
  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override;

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

  static Stream stream_of(const Node& file);
  Result<Begins> begins(Stream stream, std::uint64_t until) const;
  Result<Slice> read_part(const RequestContext& context, Stream stream, const Part& part) const;
  Result<Slice> read_shard(const RequestContext& context, Stream stream, const Part& part) const;

  JoinedShards& shards_;
  mutable SharedCache<CachedBytes> small_shards_{4u << 20};
  mutable std::mutex mutex_;  // guards the following
  mutable Begins concat_;
  mutable Begins lines_;
};

}  // namespace recordfs
