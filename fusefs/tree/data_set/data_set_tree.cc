#include "fusefs/tree/data_set/data_set_tree.h"

#include <utility>

#include "fusefs/tree/data_set/set_views.h"

namespace recordfs {
namespace {

std::shared_ptr<const NodeTree> own_nodes(DataSetShards& shards, TreeContext& cache) {
  auto nodes = std::make_shared<NodeTree>(kSetNodes, 0);
  for (const auto& [id, make] : kSetViewFactories) nodes->set_view(id, make(*nodes, shards, cache));
  return nodes;
}

}  // namespace

DataSetTree::DataSetTree(DataSetSource source, TreeContext& cache, const MountedContainers& sources, InodeTable& inodes)
    : ContainerSubtree(sources, inodes), shards_(std::move(source), cache), nodes_(own_nodes(shards_, cache)) {
  inodes.add_own(shards_.numbers().bits(), shards_.numbers().most());
  set_opener(this);
  renew_own();
}

void DataSetTree::renew_own() {
  ContainerNode own{.ownership = shards_.ownership(), .nodes = nodes_};
  own.is_followed = may_grow();
  own.first_modified = shards_.first_modified();
  set_own(std::move(own));
}

Result<ContainerOpener::Pointer> DataSetTree::container(const RequestContext& context, std::uint64_t id) {
  return id < shards_.size() ? shards_.container(context, static_cast<std::size_t>(id)) : no_such_name();
}

Result<FileStatus> DataSetTree::status(const RequestContext& context, std::uint64_t number) {
  const auto found = resolve(number);
  const bool is_shard = found && found->node == Node{} && found->container < shards_.size();
  if (!is_shard) return ContainerSubtree::status(context, number);
  const auto shard = static_cast<std::size_t>(found->container);
  if (shards_.set().shard(shard).is_missing) return shards_.container(context, shard).error();
  return FileStatus{number, number, FileType::kDirectory, 0, shards_.ownership(shard)};
}

std::string DataSetTree::extended_names(const RequestContext& context, std::uint64_t number) {
  std::string names = ContainerSubtree::extended_names(context, number);
  if (is_record(number) && !names.empty()) names.append(kShardName).append(1, '\0');
  return names;
}

Result<std::string> DataSetTree::extended_attribute(const RequestContext& context, std::uint64_t number,
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

void DataSetTree::add_usage(Usage& usage) {
  usage.bytes += shards_.stored();
  usage.files += progress().totals.records;
}

void DataSetTree::append(const RequestContext& context, AppendedShards more, const Notify& notify) {
  // The last directory of thousands/ may get more records.
  const Node thousand{NodeKind::kThousand, progress().totals.records / kThousandRecords};
  shards_.append(context, std::move(more), [&] {
    renew_own();
    for (const Node& node : nodes_->static_nodes()) notify(number_in(0, node));
    notify(number_in(0, thousand));
  });
}

}  // namespace recordfs
