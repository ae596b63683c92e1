#include "fusefs/tree/joined/joined_set.h"

#include <utility>

#include "fusefs/tree/joined/joined_records.h"
#include "fusefs/tree/joined/joined_streams.h"
#include "fusefs/tree/joined/set_nodes.h"

namespace recordfs {
namespace {

constexpr std::string_view kLinkToShard = "../.shards/";

// shards/, with a link to each shard, and .shards/, with the shards' own directories.
class ShardsView final : public View {
 public:
  ShardsView(const NodeTree& nodes, JoinedShards& shards) : View(nodes), shards_(shards) {}

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

  JoinedShards& shards_;
};

}  // namespace

JoinedSet::Nodes::Nodes(JoinedShards& shards, TreeContext& cache)
    : NodeTree(kSetNodes, 0), tables(add_view<JoinedTables>(ViewId::kStatic, shards, cache)) {
  using Shows = JoinedRecords::Shows;
  add_view<JoinedRecords>(ViewId::kRecords, shards, Shows::kRecords, cache.record_suffix);
  add_view<JoinedRecords>(ViewId::kInside, shards, Shows::kInsides, std::string_view());
  add_view<JoinedStreams>(ViewId::kStreams, shards);
  add_view<ShardsView>(ViewId::kShards, shards);
}

JoinedSet::JoinedSet(JoinedSource source, TreeContext& cache, const MountedContainers& sources, InodeTable& inodes)
    : ContainerSubtree(sources, inodes), shards_(std::move(source), cache), nodes_(shards_, cache) {
  inodes.add_shards(shards_.numbers().bits(), shards_.numbers().most());
  set_opener(this);
  renew_own();
}

void JoinedSet::renew_own() {
  auto own = std::make_shared<ContainerNode>();
  own->id = InodeTable::kDataSet;
  own->ownership = shards_.ownership();
  own->nodes = &nodes_;
  own->is_followed = may_grow();
  own->first_modified = shards_.first_modified();
  const std::lock_guard lock(mutex_);
  own_ = std::move(own);
}

Result<ContainerOpener::Pointer> JoinedSet::container(const RequestContext& context, std::uint64_t id) {
  if (id != InodeTable::kDataSet) {
    return id < shards_.size() ? shards_.container(context, static_cast<std::size_t>(id)) : no_such_name();
  }
  const std::lock_guard lock(mutex_);
  return own_;
}

Result<FileStatus> JoinedSet::status(const RequestContext& context, std::uint64_t number) {
  const auto found = resolve(number);
  const bool is_shard = found && found->node == Node{} && found->container < shards_.size();
  if (!is_shard) return ContainerSubtree::status(context, number);
  const auto shard = static_cast<std::size_t>(found->container);
  if (shards_.set().shard(shard).is_missing) return shards_.container(context, shard).error();
  return FileStatus{number, number, FileType::kDirectory, 0, shards_.ownership(shard)};
}

std::string JoinedSet::extended_names(const RequestContext& context, std::uint64_t number) {
  std::string names = ContainerSubtree::extended_names(context, number);
  if (is_record(number) && !names.empty()) names.append(kShardName).append(1, '\0');
  return names;
}

Result<std::string> JoinedSet::extended_attribute(const RequestContext& context, std::uint64_t number,
                                                  std::string_view name) {
  if (!is_record(number)) return ContainerSubtree::extended_attribute(context, number, name);
  ASSIGN_OR_RETURN(const auto found, find(context, number));
  const auto shard = static_cast<std::size_t>(found.container->id);
  if (name == kShardName) return std::string(shards_.name(shard));
  ASSIGN_OR_RETURN(auto value, ContainerSubtree::extended_attribute(context, number, name));
  if (name != kOrdinalName) return value;
  ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(shard));
  return std::to_string(counts.first_ordinal + number_from(value).value_or(0));
}

void JoinedSet::add_usage(const RequestContext&, Usage& usage) {
  usage.bytes += shards_.stored();
  usage.files += progress().totals.records;
}

void JoinedSet::append(const RequestContext& context, AppendedShards more, const Notify& notify) {
  // The last directory of thousands/ may get more records.
  const Node thousand{NodeKind::kThousand, progress().totals.records / kThousandRecords};
  const auto notify_all = [&] {
    renew_own();
    for (const Node& node : nodes_.static_nodes()) notify(number_in(0, node));
    notify(number_in(0, thousand));
  };
  if (shards_.prepare(more)) notify_all();
  shards_.append(context, std::move(more));
  do {
    nodes_.tables.renew();
    shards_.set_modified();
    notify_all();
  } while (shards_.append_sizes(context));
}

}  // namespace recordfs
