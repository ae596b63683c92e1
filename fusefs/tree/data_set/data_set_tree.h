// DataSetTree: a data set as the root of a mount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "fusefs/tree/container_subtree.h"
#include "fusefs/tree/data_set/data_set_shards.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// The nodes of the shards' containers, and those of the data set itself, which views serve as if the data set were a
// container (set_nodes.h). Thread-safe. Functions block only as far as RequestContext permits. They return kPending as
// View does, if DataSet has not counted far enough, or as the container that they ask.
class DataSetTree final : public ContainerSubtree, public ContainerOpener {
 public:
  // The references must outlive this.
  DataSetTree(DataSetSource source, TreeContext& cache, const MountedContainers& sources, InodeTable& inodes);

  // Opens no shard.
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number) override;
  std::string extended_names(const RequestContext& context, std::uint64_t number) override;
  Result<std::string> extended_attribute(const RequestContext& context, std::uint64_t number,
                                         std::string_view name) override;
  void add_usage(Usage& usage) override;
  bool may_grow() const override { return shards_.is_followed(); }
  Result<Pointer> container(const RequestContext& context, std::uint64_t id) override;

  // Returns how many more shards may be appended.
  std::size_t room() const { return may_grow() ? shards_.most_shards() - shards_.size() : 0; }
  using Notify = std::function<void(std::uint64_t number)>;
  // Appends shards, which DataSetSource::Open already opens. All nodes that exist keep their numbers and ordinals.
  // Calls `notify` with the numbers of nodes whose attributes have changed, several times if the records can be shown
  // before the streams. May take as long as scanning the shards, and decoding them if a stream is in use. Only one
  // thread may call this, and no request may wait for it. REQUIRES: at most room() shards.
  void append(const RequestContext& context, AppendedShards more, const Notify& notify);

  // What the statistics show.
  DataSet::Progress progress() { return shards_.set().progress(); }
  std::size_t missing() { return shards_.set().missing(); }
  std::size_t open_containers() const { return shards_.open_containers(); }

 private:
  // Shows the own nodes with the present owner and time of the data set.
  void renew_own();

  DataSetShards shards_;
  const std::shared_ptr<const NodeTree> nodes_;  // of the data set itself
};

}  // namespace recordfs
