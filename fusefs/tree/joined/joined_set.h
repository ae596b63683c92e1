// JoinedSet: a data set as the root of a mount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fusefs/tree/file_status.h"
#include "fusefs/tree/joined/joined_records.h"
#include "fusefs/tree/joined/joined_shards.h"
#include "fusefs/tree/joined/joined_streams.h"
#include "fusefs/tree/joined/joined_tables.h"

namespace recordfs {

// The directories and files of the data set itself. Its records are the nodes of its shards' containers, which
// JoinedRecords finds by their ordinals in the set. Thread-safe. Functions block only as far as RequestContext permits.
// They return kPending as View does, if DataSet has not counted far enough, or as the container that they ask.
class JoinedSet {
 public:
  // `cache` must outlive this.
  JoinedSet(JoinedSource source, CachedFiles& cache);

  // Returns whether a number means a node of the data set itself, or a shard's own directory. Nodes inside a shard have
  // other numbers.
  bool owns(std::uint64_t number) const { return shards_.numbers().is_own(number) || is_shard(number); }
  bool is_shard(std::uint64_t number) const;
  // Returns the shard and the node that any other computed number means; nullopt if it means none.
  std::optional<InodeTable::ResolvedInode> resolve(std::uint64_t number) const { return shards_.resolve(number); }
  Result<std::shared_ptr<const ContainerNode>> container(const RequestContext& context, std::size_t shard) {
    return shards_.container(context, shard);
  }

  // What a name means: a number that owns() accepts, or a node of a shard's container.
  struct Named {
    std::uint64_t number = 0;
    std::shared_ptr<const ContainerNode> container{};  // null: `number` is valid
    Node node{};
  };
  // The following functions REQUIRE owns(number). In a shard's directory, its container finds and lists names.
  Result<Named> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name);
  // Opens no shard.
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number);
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place, const EmitEntry& emit);
  // Returns the number of the parent directory, which is also its inode number.
  std::uint64_t parent(std::uint64_t directory) const;
  Result<std::string> target(std::uint64_t link) const;
  // Returns up to `length` bytes of a file from `offset`, and fewer only at its end.
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset, std::uint64_t length);

  // Returns the name of a shard, and the ordinal in the set of its first record. kPending until that is counted.
  std::string_view shard_name(std::size_t shard) const { return shards_.name(shard); }
  Result<std::uint64_t> first_ordinal(std::size_t shard);

  // Returns whether shards may be appended, and how many more.
  bool is_followed() const { return shards_.is_followed(); }
  std::size_t room() const { return is_followed() ? shards_.most_shards() - shards_.size() : 0; }
  using Notify = std::function<void(std::uint64_t number)>;
  // Appends shards, which JoinedSource::Open already opens. All nodes that exist keep their numbers and ordinals. Calls
  // `notify` with the numbers of nodes whose attributes have changed, several times if the records can be shown before
  // the streams. May take as long as scanning the shards, and decoding them if a stream is in use. Only one thread may
  // call this, and no request may wait for it. REQUIRES: at most room() shards.
  void append(const RequestContext& context, AppendedShards more, const Notify& notify);

  // What statfs and the statistics show.
  std::uint64_t stored() const { return shards_.stored(); }
  DataSet::Progress progress() { return shards_.set().progress(); }
  std::size_t missing() { return shards_.set().missing(); }
  std::size_t open_containers() const { return shards_.open_containers(); }

 private:
  Result<Named> lookup_inside_alias(std::uint64_t ordinal);
  Result<bool> has_parts(const RequestContext& context);
  Result<std::uint64_t> lookup_shard(std::string_view name, bool in_links) const;
  Result<void> list_shards(bool as_links, std::uint64_t place, const EmitEntry& emit) const;
  Result<Slice> contents(const RequestContext& context, std::uint64_t file);
  Result<std::uint64_t> size(const RequestContext& context, std::uint64_t file);

  JoinedShards shards_;
  JoinedRecords records_;
  JoinedStreams streams_;
  JoinedTables tables_;
};

}  // namespace recordfs
