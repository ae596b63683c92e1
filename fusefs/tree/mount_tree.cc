#include "fusefs/tree/mount_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

const std::string& name_of(const MountSource& source) {
  return std::visit([](const auto& either) -> const std::string& { return either.name; }, source);
}

}  // namespace

Ownership ownership_of(const FileSource::Status& status) {
  return container_ownership(status.uid, status.gid, status.mode,
                             {.tv_sec = status.mtime_seconds, .tv_nsec = status.mtime_nanoseconds});
}

MountTree::MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings, std::string record_suffix,
                     UserTypes types)
    : nested_(nested || sources.size() != 1),
      cache_{.record_suffix = std::move(record_suffix), .types = std::move(types)} {
  if (auto* set = sources.size() == 1 ? std::get_if<JoinedSource>(&sources.front()) : nullptr) {
    joined_ = std::make_unique<JoinedSet>(std::move(*set), cache_);
    inodes_.fix_ranges();
    return;
  }
  if (auto* database = sources.size() == 1 ? std::get_if<DatabaseSource>(&sources.front()) : nullptr) {
    std::vector<MirroredDirectory> files{std::move(database->files)};
    files.front().name = DatabaseTree::kFilesName;
    mirror_ = std::make_unique<Mirror>(std::move(files), std::move(settings), false, cache_, inodes_);
    const std::uint64_t number = mirror_->number_of_source(0);
    database_ =
        std::make_unique<DatabaseTree>(std::move(*database), DatabaseTree::Files{number, mirror_->inode(number)});
    return;
  }
  std::set<std::string> taken;
  std::vector<MirroredDirectory> directories;
  for (MountSource& source : sources) {
    std::string name = name_of(source);
    for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}~{}", name_of(source), copy);
    Top& top = tops_.emplace_back(Top{.name = std::move(name), .container = {}});
    if (const auto* container = std::get_if<MountedContainer>(&source)) {
      top.container = containers_.size();
      top.number = containers_.add(*container, nested_ ? &top.name : nullptr);
    } else {
      directories.push_back(std::get<MirroredDirectory>(std::move(source)));
      directories.back().name = top.name;
    }
  }
  if (containers_.size() > 0) root_ownership_ = containers_.at(0)->ownership;
  if (directories.empty()) {
    inodes_.fix_ranges();
    return;
  }
  mirror_ = std::make_unique<Mirror>(std::move(directories), std::move(settings), !nested_, cache_, inodes_);
  std::size_t source = 0;
  for (Top& top : tops_) {
    if (!top.container) top.number = mirror_->number_of_source(source++);
  }
  if (tops_.front().container) return;
  const auto first = mirror_->status({}, tops_.front().number);
  if (first) root_ownership_ = first->ownership;
}

bool MountTree::may_gain_names(const RequestContext& context, std::uint64_t directory) const {
  if (is_mirrored(directory) || is_database(directory)) return true;
  if (joined_ != nullptr) return joined_->is_followed() && joined_->owns(directory) && !joined_->is_shard(directory);
  if (is_own_root(directory) || !containers_.may_grow()) return false;
  const auto found = find(context, directory);
  return found && found->container_node->is_followed;
}

std::optional<InodeTable::ResolvedInode> MountTree::resolve(std::uint64_t number) const {
  if (mirror_ != nullptr && mirror_->owns(number)) return InodeTable::ResolvedInode{number, {}};
  return joined_ == nullptr || is_counted(node_kind(number)) ? inodes_.find(number) : joined_->resolve(number);
}

Result<std::shared_ptr<const ContainerNode>> MountTree::container(const RequestContext& context,
                                                                  std::uint64_t id) const {
  if (joined_ != nullptr) return joined_->container(context, static_cast<std::size_t>(id));
  if (id < containers_.size()) return containers_.at(static_cast<std::size_t>(id));
  return mirror_->container(context, id);
}

Result<MountTree::ResolvedNode> MountTree::find(const RequestContext& context, std::uint64_t number) const {
  const auto found = resolve(number);
  if (!found) return Error{.code = Code::kNotFound, .detail = "no such node"};
  auto shown = container(context, found->container);
  if (!shown) return std::move(shown).error();
  const ContainerTree& tree = *(*shown)->tree;
  context.set_filesystem(tree.store().source().filesystem());
  const View* view = tree.view(found->node);
  if (view == nullptr) return no_such_name();
  return ResolvedNode{std::move(*shown), found->node, view};
}

Result<std::uint64_t> MountTree::lookup(const RequestContext& context, std::uint64_t directory,
                                        std::string_view name) const {
  if (is_own_root(directory)) {
    const auto named = std::ranges::find(tops_, name, &Top::name);
    if (named == tops_.end()) return no_such_name();
    return named->number;
  }
  if (is_mirrored(directory)) {
    ASSIGN_OR_RETURN(const auto status, mirror_->look_up_and_reference(context, directory, name));
    return status.number;
  }
  if (is_database(directory)) return database_->lookup(context, directory, name);
  if (is_joined(directory) && !joined_->is_shard(directory)) {
    ASSIGN_OR_RETURN(const auto named, joined_->lookup(context, directory, name));
    if (named.container == nullptr) return named.number;
    return look_up_and_reference({.name = name, .container = named.container.get(), .node = named.node});
  }
  ASSIGN_OR_RETURN(const auto found, find(context, directory));
  ASSIGN_OR_RETURN(const auto node, kept_open(found.container_node, found.view->lookup(context, found.node, name)));
  return look_up_and_reference({.name = name, .container = found.container_node.get(), .node = node});
}

Result<FileStatus> MountTree::look_up_and_reference(const RequestContext& context, std::uint64_t directory,
                                                    std::string_view name) const {
  if (is_mirrored(directory)) return mirror_->look_up_and_reference(context, directory, name);
  ASSIGN_OR_RETURN(const auto number, lookup(context, directory, name));
  auto found = status(context, number);
  if (!found) forget(number, 1);
  return found;
}

std::uint64_t MountTree::look_up_and_reference(const MountEntry& entry) const {
  const ContainerNode& container = *entry.container;
  if (container.is_mirrored) inodes_.reference_inside(container.id);
  return is_counted(entry.node.kind) ? inodes_.look_up_and_reference(container.id, entry.node)
                                     : container.number(entry.node);
}

void MountTree::forget(std::uint64_t number, std::uint64_t lookups) const {
  if (is_database(number)) return database_->forget(number, lookups);
  if (const auto unused = inodes_.forget(number, lookups)) mirror_->drop(*unused);
}

Result<FileStatus> MountTree::status(const RequestContext& context, std::uint64_t number) const {
  if (is_own_root(number)) return FileStatus{number, number, FileType::kDirectory, 0, root_ownership_};
  if (mirror_ != nullptr && mirror_->owns(number)) return mirror_->status(context, number);
  if (is_database(number)) return database_->status(number);
  if (is_joined(number)) return joined_->status(context, number);
  ASSIGN_OR_RETURN(const auto found, find(context, number));
  ASSIGN_OR_RETURN(const auto attributes, kept_open(found.container_node, found.view->attributes(context, found.node)));
  return found.container_node->status(number, found.node, attributes);
}

Result<void> MountTree::list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                             const EmitEntry& emit) const {
  if (is_own_root(directory)) return list_tops(place, emit);
  if (is_database(directory)) return database_->list(context, directory, place, emit);
  if (is_joined(directory) && !joined_->is_shard(directory)) return joined_->list(context, directory, place, emit);
  ASSIGN_OR_RETURN(const auto found, find(context, directory));
  const ContainerNode& container_node = *found.container_node;
  const auto numbered = [&](const DirectoryEntry& entry) {
    return emit({entry.name, container_node.inode(entry.node), entry.type, entry.size, entry.next, &container_node,
                 entry.node});
  };
  return kept_open(found.container_node, found.view->list(context, found.node, place, numbered));
}

Result<void> MountTree::list_tops(std::uint64_t place, const EmitEntry& emit) const {
  for (; place < tops_.size(); ++place) {
    const Top& top = tops_[static_cast<std::size_t>(place)];
    MountEntry entry{.name = top.name, .type = FileType::kDirectory, .next = place + 1};
    std::shared_ptr<const ContainerNode> shown;
    if (top.container) {
      shown = containers_.at(*top.container);
      entry.container = shown.get();
      entry.inode = entry.container->root_inode;
      entry.size = 0;
    } else {
      entry.inode = mirror_->inode(top.number);
    }
    if (!emit(entry)) break;
  }
  return {};
}

std::uint64_t MountTree::inode(const RequestContext& context, std::uint64_t directory) const {
  if (is_own_root(directory)) return kRootNumber;
  if (mirror_ != nullptr && mirror_->owns(directory)) return mirror_->inode(directory);
  if (is_database(directory)) return database_->inode(directory);
  if (is_joined(directory)) return directory;
  const auto found = find(context, directory);
  return !found ? kRootNumber : found->container_node->inode(found->node);
}

std::uint64_t MountTree::parent_inode(const RequestContext& context, std::uint64_t directory) const {
  if (is_own_root(directory)) return kRootNumber;
  if (mirror_ != nullptr && mirror_->owns(directory)) return mirror_->parent_inode(directory);
  if (is_database(directory)) return database_->parent_inode(directory);
  if (is_joined(directory)) return joined_->parent(directory);
  const auto found = find(context, directory);
  if (!found || found->node == Node{}) return kRootNumber;
  return found->container_node->inode(found->view->parent(context, found->node));
}

Result<std::string> MountTree::target(const RequestContext& context, std::uint64_t link) const {
  if (is_mirrored(link)) return mirror_->target(context, link);
  if (is_joined(link)) return joined_->target(link);
  ASSIGN_OR_RETURN(const auto found, find(context, link));
  return found.view->target(found.node);
}

Result<Slice> MountTree::read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                              std::uint64_t length) const {
  if (is_mirrored(file)) return mirror_->read(context, file, offset, length);
  if (is_database(file)) return database_->read(context, file, offset, length);
  if (is_joined(file)) return joined_->read(context, file, offset, length);
  ASSIGN_OR_RETURN(const auto found, find(context, file));
  return kept_open(found.container_node, found.view->read(context, found.node, offset, length));
}

std::string MountTree::extended_names(const RequestContext& context, std::uint64_t number) const {
  if (is_database(number)) return database_->extended_names(number);
  std::string names;
  if (is_own_root(number) || is_mirrored(number) || is_joined(number)) return names;
  const auto found = find(context, number);
  if (!found) return names;
  for (const std::string_view name : node_type(found->node)->extended) names.append(name).append(1, '\0');
  if (joined_ != nullptr && is_record(number)) names.append(kShardName).append(1, '\0');
  return names;
}

Result<std::string> MountTree::extended_attribute(const RequestContext& context, std::uint64_t number,
                                                  std::string_view name) const {
  if (is_database(number)) return database_->extended_attribute(number, name);
  const Error none{.code = Code::kNotFound, .detail = "no such attribute"};
  if (is_own_root(number) || is_mirrored(number) || is_joined(number)) return none;
  ASSIGN_OR_RETURN(const auto found, find(context, number));
  const auto shard = static_cast<std::size_t>(found.container_node->id);
  const bool is_in_set = joined_ != nullptr && is_record(number);
  if (is_in_set && name == kShardName) return std::string(joined_->shard_name(shard));
  if (std::ranges::count(node_type(found.node)->extended, name) == 0) return none;
  ASSIGN_OR_RETURN(auto value,
                   kept_open(found.container_node, found.view->extended_attribute(context, found.node, name)));
  if (!is_in_set || name != kOrdinalName) return value;
  ASSIGN_OR_RETURN(const auto first, joined_->first_ordinal(shard));
  return std::to_string(first + number_from(value).value_or(0));
}

void MountTree::for_each_following(const RequestContext& context, std::uint64_t record, Following& following,
                                   const std::function<bool(std::uint64_t, Bytes)>& take) const {
  auto found = find(context, record);
  if (!found || found->node.kind != NodeKind::kRecord) return;
  const ContainerTree& tree = *found->container_node->tree;
  const RecordStore& store = tree.store();
  const auto from = store.records().record_at(context, found->node.value);
  if (!from) return;
  if (following.snapshot != tree.snapshot()) following = {.snapshot = tree.snapshot()};
  store.records().for_each_following(context, *from, following.records, [&](const RecordRef& after, Bytes bytes) {
    const auto address = store.records().address(after.chunk, after.index);
    return address && take(found->container_node->number({NodeKind::kRecord, *address}), bytes);
  });
}

Mirror::Usage MountTree::usage(const RequestContext& context) const {
  Mirror::Usage usage = mirror_ == nullptr ? Mirror::Usage{} : mirror_->usage(context);
  for (const auto& store : containers_.stores()) {
    usage.bytes += store->source().size();
    usage.files += store->index().state().totals.records;
  }
  if (joined_ != nullptr) {
    usage.bytes += joined_->stored();
    usage.files += joined_->progress().totals.records;
  }
  return usage;
}

}  // namespace recordfs
