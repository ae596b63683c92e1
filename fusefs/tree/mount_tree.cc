#include "fusefs/tree/mount_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr mode_t kReadBits = 0444;

std::vector<MountSource> as_sources(std::vector<MountedContainer> containers) {
  std::vector<MountSource> sources;
  sources.reserve(containers.size());
  for (MountedContainer& container : containers) sources.emplace_back(std::move(container));
  return sources;
}

const std::string& name_of(const MountSource& source) {
  return std::visit([](const auto& either) -> const std::string& { return either.name; }, source);
}

// Returns a time later than `before`, so that a comparison of times shows a change.
timespec later(timespec before, timespec now) {
  constexpr std::int64_t kSecond = 1000000000;
  if (now.tv_sec > before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec > before.tv_nsec)) return now;
  if (++before.tv_nsec == kSecond) before = {.tv_sec = before.tv_sec + 1, .tv_nsec = 0};
  return before;
}

mode_t with_search(mode_t read_bits) { return static_cast<mode_t>(read_bits | read_bits >> 2); }

}  // namespace

Ownership ownership_of(const FileSource::Status& status) {
  const auto read_bits = static_cast<mode_t>(status.mode & kReadBits);
  return {.uid = status.uid,
          .gid = status.gid,
          .file_mode = read_bits,
          .directory_mode = with_search(read_bits),
          .modified = {.tv_sec = status.mtime_seconds, .tv_nsec = status.mtime_nanoseconds}};
}

MountTree::MountTree(std::vector<MountedContainer> containers, bool nested, std::string record_suffix, UserTypes types)
    : MountTree(as_sources(std::move(containers)), nested, {}, std::move(record_suffix), std::move(types)) {}

MountTree::MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings, std::string record_suffix,
                     UserTypes types)
    : nested_(nested || sources.size() != 1),
      cache_{.record_suffix = std::move(record_suffix), .types = std::move(types)} {
  std::set<std::string> taken;
  std::vector<MirroredDirectory> directories;
  for (MountSource& source : sources) {
    std::string name = name_of(source);
    for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}~{}", name_of(source), copy);
    Top& top = tops_.emplace_back(Top{.name = std::move(name), .container = {}});
    if (const auto* container = std::get_if<MountedContainer>(&source)) {
      add(*container, top);
    } else {
      top.directory = directories.size();
      directories.push_back(std::get<MirroredDirectory>(std::move(source)));
      directories.back().name = top.name;
    }
  }
  const bool is_first_mirrored = !tops_.empty() && !tops_.front().container;
  if (!container_nodes_.empty()) root_ownership_ = container_nodes_.front()->ownership;
  if (directories.empty()) return;
  mirror_ = std::make_unique<Mirror>(std::move(directories), std::move(settings), !nested_, cache_, inodes_);
  for (Top& top : tops_) {
    if (!top.container) top.number = mirror_->number_of_source(top.directory);
  }
  if (!is_first_mirrored) return;
  const auto first = mirror_->status(tops_.front().number);
  if (first) root_ownership_ = first->ownership;
}

void MountTree::add(const MountedContainer& container, Top& top) {
  const std::size_t index = container_nodes_.size();
  auto container_node = std::make_shared<ContainerNode>();
  container_node->id = index;
  container_node->ownership = container.ownership;
  container_node->is_followed = container.is_followed;
  container_node->first_modified = container.ownership.modified;
  container_node->tree = std::make_unique<ContainerTree>(container.store, cache_, index);
  const auto wanted = nested_ ? InodeTable::wanted(top.name, container_node->tree->values()) : InodeTable::kWhole;
  container_node->begin = container_node->inode_begin = inodes_.add(index, wanted).value();
  container_node->root_number = container_node->root_inode = number_in(container_node->begin, Node{});
  top.container = index;
  top.number = container_node->root_number;
  container_nodes_.push_back(std::move(container_node));
  is_followed_.push_back(container.is_followed);
}

// Returns a pointer without ownership for a container that is not followed, as it lives as long as the mount.
std::shared_ptr<const ContainerNode> MountTree::container_node(std::size_t container) const {
  if (!is_followed_[container]) return {std::shared_ptr<const ContainerNode>(), container_nodes_[container].get()};
  const std::lock_guard lock(follow_mutex_);
  return container_nodes_[container];
}

std::vector<std::uint64_t> MountTree::grow(std::size_t container, const std::shared_ptr<const RecordStore>& store,
                                           timespec modified) {
  const std::shared_ptr<const ContainerNode> before = container_node(container);
  auto next = std::make_shared<ContainerNode>();
  next->id = before->id;
  next->ownership = before->ownership;
  next->ownership.modified = later(before->ownership.modified, modified);
  next->tree = std::make_unique<ContainerTree>(store, cache_, before->id);
  prepare(*next->tree);
  next->begin = before->begin;
  next->inode_begin = before->inode_begin;
  next->root_number = before->root_number;
  next->root_inode = before->root_inode;
  next->is_followed = true;
  next->first_modified = before->first_modified;
  std::vector<std::uint64_t> numbers;
  for (const Node node : next->tree->changed_since(*before->tree)) numbers.push_back(next->number(node));
  replaced_.push_back(before);
  const std::lock_guard lock(follow_mutex_);
  container_nodes_[container] = std::move(next);
  return numbers;
}

void MountTree::drop_unused() {
  std::erase_if(replaced_, [](const std::shared_ptr<const ContainerNode>& container_node) {
    return container_node.use_count() == 1;
  });
}

void MountTree::prepare() const {
  for (std::size_t i = 0; i < container_nodes_.size(); ++i) prepare(*container_node(i)->tree);
}

void MountTree::prepare(const ContainerTree& tree) {
  if (tree.store().source().filesystem() == 0) return;
  // A failure is reported to the first reader.
  static_cast<void>(tree.attributes({NodeKind::kStatic, kInfo}).has_value());
}

std::vector<std::shared_ptr<const RecordStore>> MountTree::stores() const {
  std::vector<std::shared_ptr<const RecordStore>> stores;
  for (std::size_t i = 0; i < container_nodes_.size(); ++i) {
    const auto container = container_node(i);
    stores.emplace_back(container, &container->tree->store());
  }
  return stores;
}

bool MountTree::may_grow() const { return std::ranges::find(is_followed_, true) != is_followed_.end(); }

bool MountTree::may_gain_names(std::uint64_t directory) const {
  if (is_mirrored(directory)) return true;
  if (is_own_root(directory) || !may_grow()) return false;
  const auto found = find(directory);
  return found && found->container_node->is_followed;
}

Result<MountTree::ResolvedNode> MountTree::find(std::uint64_t number) const {
  const bool is_own_directory = mirror_ != nullptr && mirror_->owns(number);
  const auto found = is_own_directory ? InodeTable::ResolvedInode{number, {}} : inodes_.find(number);
  if (!found) return Error{.code = Code::kNotFound, .detail = "no such node"};
  auto shown = found->container < container_nodes_.size() ? container_node(found->container)
                                                          : mirror_->container(found->container);
  if (!shown) return std::move(shown).error();
  RequestContext::set_filesystem((*shown)->tree->store().source().filesystem());
  return ResolvedNode{std::move(*shown), found->node};
}

Result<const MountTree::Top*> MountTree::top(std::string_view name) const {
  const auto named = std::ranges::find(tops_, name, &Top::name);
  if (named == tops_.end()) return Error{.code = Code::kNotFound, .detail = "no such name"};
  return &*named;
}

Result<std::uint64_t> MountTree::lookup(std::uint64_t directory, std::string_view name) const {
  if (is_own_root(directory)) {
    ASSIGN_OR_RETURN(const auto named, top(name));
    return named->number;
  }
  if (is_mirrored(directory)) {
    ASSIGN_OR_RETURN(const auto status, mirror_->look_up_and_reference(directory, name));
    return status.number;
  }
  ASSIGN_OR_RETURN(const auto found, find(directory));
  ASSIGN_OR_RETURN(const auto node, kept_open(found, found.container_node->tree->lookup(found.node, name)));
  return look_up_and_reference(*found.container_node, node);
}

Result<FileStatus> MountTree::look_up_and_reference(std::uint64_t directory, std::string_view name) const {
  if (is_mirrored(directory)) return mirror_->look_up_and_reference(directory, name);
  ASSIGN_OR_RETURN(const auto number, lookup(directory, name));
  auto found = status(number);
  if (!found) forget(number, 1);
  return found;
}

std::uint64_t MountTree::look_up_and_reference(const ContainerNode& container_node, Node node) const {
  if (container_node.is_mirrored) mirror_->reference_inside(container_node.id);
  return is_counted(node.kind) ? inodes_.look_up_and_reference(container_node.id, node) : container_node.number(node);
}

std::uint64_t MountTree::look_up_and_reference(const MountEntry& entry) const {
  return look_up_and_reference(*entry.container, entry.node);
}

void MountTree::forget(std::uint64_t number, std::uint64_t lookups) const {
  if (mirror_ != nullptr && mirror_->owns(number)) return mirror_->forget(number, lookups);
  const auto found = mirror_ == nullptr ? std::nullopt : inodes_.find(number);
  inodes_.forget(number, lookups);
  if (found && found->container >= container_nodes_.size()) mirror_->forget_inside(found->container, lookups);
}

Result<FileStatus> MountTree::status(std::uint64_t number) const {
  if (is_own_root(number)) return FileStatus{number, number, FileType::kDirectory, 0, root_ownership_};
  if (mirror_ != nullptr && mirror_->owns(number)) return mirror_->status(number);
  ASSIGN_OR_RETURN(const auto found, find(number));
  ASSIGN_OR_RETURN(const auto attributes, kept_open(found, found.container_node->tree->attributes(found.node)));
  return found.container_node->status(number, found.node, attributes);
}

Result<void> MountTree::list(std::uint64_t directory, std::uint64_t place,
                             const std::function<bool(const MountEntry&)>& emit) const {
  if (is_own_root(directory)) return list_tops(place, emit);
  ASSIGN_OR_RETURN(const auto found, find(directory));
  const ContainerNode& container_node = *found.container_node;
  const auto numbered = [&](const DirectoryEntry& entry) {
    return emit({entry.name, container_node.inode(entry.node), entry.type, entry.size, entry.next, &container_node,
                 entry.node});
  };
  return kept_open(found, container_node.tree->list(found.node, place, numbered));
}

Result<void> MountTree::list_tops(std::uint64_t place, const std::function<bool(const MountEntry&)>& emit) const {
  for (; place < tops_.size(); ++place) {
    const Top& top = tops_[static_cast<std::size_t>(place)];
    MountEntry entry{.name = top.name, .type = FileType::kDirectory, .next = place + 1};
    std::shared_ptr<const ContainerNode> shown;
    if (top.container) {
      shown = container_node(*top.container);
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

std::uint64_t MountTree::inode(std::uint64_t directory) const {
  if (is_own_root(directory)) return kRootNumber;
  if (mirror_ != nullptr && mirror_->owns(directory)) return mirror_->inode(directory);
  auto found = find(directory);
  return !found ? kRootNumber : found->container_node->inode(found->node);
}

std::uint64_t MountTree::parent_inode(std::uint64_t directory) const {
  if (is_own_root(directory)) return kRootNumber;
  if (mirror_ != nullptr && mirror_->owns(directory)) return mirror_->parent_inode(directory);
  auto found = find(directory);
  if (!found || found->node == Node{}) return kRootNumber;
  return found->container_node->inode(found->container_node->tree->parent(found->node));
}

Result<std::string> MountTree::target(std::uint64_t link) const {
  if (is_mirrored(link)) return mirror_->target(link);
  ASSIGN_OR_RETURN(const auto found, find(link));
  return found.container_node->tree->target(found.node);
}

Result<Slice> MountTree::read(std::uint64_t file, std::uint64_t offset, std::uint64_t length) const {
  if (is_mirrored(file)) return mirror_->read(file, offset, length);
  ASSIGN_OR_RETURN(const auto found, find(file));
  return kept_open(found, found.container_node->tree->read(found.node, offset, length));
}

std::string MountTree::extended_names(std::uint64_t number) const {
  std::string names;
  if (is_own_root(number) || is_mirrored(number)) return names;
  const auto found = find(number);
  if (!found) return names;
  const NodeType* type = node_type(found->node);
  if (type == nullptr) return names;
  for (const std::string_view name : type->extended) names.append(name).append(1, '\0');
  return names;
}

Result<std::string> MountTree::extended_attribute(std::uint64_t number, std::string_view name) const {
  if (is_own_root(number) || is_mirrored(number)) return Error{.code = Code::kNotFound, .detail = "no such attribute"};
  ASSIGN_OR_RETURN(const auto found, find(number));
  return kept_open(found, found.container_node->tree->extended_attribute(found.node, name));
}

bool MountTree::is_record(std::uint64_t number) const {
  if (is_own_root(number)) return false;
  const auto found = inodes_.find(number);
  return found && found->node.kind == NodeKind::kRecord;
}

void MountTree::for_each_following(std::uint64_t record, const std::function<bool(std::uint64_t, Bytes)>& take) const {
  auto found = find(record);
  if (!found || found->node.kind != NodeKind::kRecord) return;
  const RecordStore& store = found->container_node->tree->store();
  const auto from = store.records().record_at(found->node.value);
  if (!from) return;
  store.records().for_each_following(*from, [&](const RecordRef& after, Bytes bytes) {
    const auto address = store.records().address(after.chunk, after.index);
    return address && take(found->container_node->number({NodeKind::kRecord, *address}), bytes);
  });
}

std::uint64_t MountTree::known_files() const {
  std::uint64_t files = mirror_ == nullptr ? 0 : mirror_->usage().files;
  for (std::size_t i = 0; i < container_nodes_.size(); ++i)
    files += container_node(i)->tree->store().index().state().totals.records;
  return files;
}

std::uint64_t MountTree::total_size() const {
  std::uint64_t size = mirror_ == nullptr ? 0 : mirror_->usage().bytes;
  for (std::size_t i = 0; i < container_nodes_.size(); ++i) size += container_node(i)->tree->store().source().size();
  return size;
}

}  // namespace recordfs
