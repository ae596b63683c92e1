// shards/ of a data set, with a link to each shard, and .shards/, with the shards' own directories.
#include <utility>

#include "fusefs/tree/data_set/set_views.h"

namespace recordfs {
namespace {

constexpr std::string_view kLinkToShard = "../.shards/";

class SetShardsView final : public View {
 public:
  SetShardsView(const NodeTree& nodes, DataSetShards& shards) : View(nodes), shards_(shards) {}

  // A link has its shard's number as an unlisted name.
  Result<Node> lookup(const RequestContext&, Node directory, std::string_view name) const override {
    const bool in_links = directory.value == kShardLinks;
    if (!in_links && directory.value != kShardDirectories) return no_such_name();
    auto shard = shards_.find(name);
    if (!shard && in_links) shard = number_from(name);
    if (!shard || *shard >= shards_.size()) return no_such_name();
    return node_of(directory, *shard);
  }

  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    const bool in_links = directory.value == kShardLinks;
    if (!in_links && directory.value != kShardDirectories) return View::list(context, directory, place, emit);
    for (; place < shards_.size(); ++place) {
      const auto shard = static_cast<std::size_t>(place);
      const FileType type = in_links ? FileType::kLink : FileType::kDirectory;
      if (!emit({shards_.name(shard), node_of(directory, shard), type, {}, place + 1})) break;
    }
    return {};
  }

  Result<std::string> target(Node link) const override {
    const std::uint64_t shard = link.value - kFirstShardLink;
    if (link.value < kFirstShardLink || shard >= shards_.size()) return no_such_name();
    return std::string(kLinkToShard).append(shards_.name(static_cast<std::size_t>(shard)));
  }

 private:
  Node node_of(const Node& directory, std::size_t shard) const {
    if (directory.value == kShardLinks) return {NodeKind::kStatic, kFirstShardLink + shard};
    return {NodeKind::kStatic, shards_.numbers().begin(shard) + kRoot};
  }

  DataSetShards& shards_;
};

}  // namespace

SetViewPointer make_set_shards_view(const NodeTree& nodes, DataSetShards& shards, TreeContext&) {
  return std::make_unique<SetShardsView>(nodes, shards);
}

}  // namespace recordfs
