#include "fusefs/tree/mount_tree.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr mode_t kRead = 0444;

mode_t with_search(mode_t read_bits) { return static_cast<mode_t>(read_bits | read_bits >> 2); }

}  // namespace

Ownership ownership_of(const FileSource::Status& status) {
  const auto read_bits = static_cast<mode_t>(status.mode & kRead);
  return {.uid = status.uid,
          .gid = status.gid,
          .file_mode = read_bits,
          .directory_mode = with_search(read_bits),
          .modified = {.tv_sec = status.mtime_seconds, .tv_nsec = status.mtime_nanoseconds}};
}

MountTree::MountTree(std::vector<MountedContainer> containers, bool nested)
    : nested_(nested || containers.size() != 1), numbering_(nested_ ? Numbering{} : Numbering::single()) {
  std::set<std::string> taken;
  for (MountedContainer& container : containers) {
    std::string name = container.name;
    for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}~{}", container.name, copy);
    auto tree = std::make_unique<ContainerTree>(std::move(container.store), kept_, mounted_.size());
    if (nested_) numbering_.add(name, tree->values());
    mounted_.push_back({std::move(name), container.ownership, std::move(tree)});
  }
}

Result<MountTree::Found> MountTree::find(std::uint64_t number) const {
  const auto found = KnownRecords::is_part(number) ? known_.find(number) : numbering_.find(number);
  if (!found) return Error{.code = Code::kNotFound, .detail = "no such node"};
  return Found{&mounted_[found->container], found->container, found->node};
}

Result<std::uint64_t> MountTree::lookup(std::uint64_t directory, std::string_view name, Goal& goal) const {
  if (is_own_root(directory)) {
    const auto named = std::ranges::find(mounted_, name, &Mounted::name);
    if (named == mounted_.end()) return Error{.code = Code::kNotFound, .detail = "no such name"};
    return look_up(static_cast<std::size_t>(named - mounted_.begin()), Node{});
  }
  auto found = find(directory);
  if (!found) return std::move(found).error();
  auto node = found->mounted->tree->lookup(found->node, name, goal);
  if (!node) return std::move(node).error();
  return look_up(found->index, *node);
}

std::uint64_t MountTree::look_up(std::size_t container, Node node) const {
  return node.kind == NodeKind::kPart ? known_.look_up(container, node) : numbering_.number(container, node);
}

std::uint64_t MountTree::look_up(const MountEntry& entry) const { return look_up(entry.container, entry.node); }

void MountTree::forget(std::uint64_t number, std::uint64_t lookups) const {
  if (KnownRecords::is_part(number)) known_.forget(number, lookups);
}

Result<FileStatus> MountTree::status(std::uint64_t number, Goal& goal) const {
  if (is_own_root(number)) return FileStatus{number, number, FileType::kDirectory, 0, &mounted_.front().ownership};
  auto found = find(number);
  if (!found) return std::move(found).error();
  auto attributes = found->mounted->tree->attributes(found->node, goal);
  if (!attributes) return std::move(attributes).error();
  return FileStatus{number, numbering_.inode(found->index, found->node), attributes->type, attributes->size,
                    &found->mounted->ownership};
}

Result<void> MountTree::list(std::uint64_t directory, std::uint64_t place,
                             const std::function<bool(const MountEntry&)>& emit, Goal& goal) const {
  if (is_own_root(directory)) {
    for (; place < mounted_.size(); ++place) {
      const auto index = static_cast<std::size_t>(place);
      const Mounted& mounted = mounted_[index];
      const MountEntry entry{
          mounted.name, numbering_.inode(index, Node{}), FileType::kDirectory, 0, place + 1, &mounted.ownership, index,
          Node{}};
      if (!emit(entry)) break;
    }
    return {};
  }
  auto found = find(directory);
  if (!found) return std::move(found).error();
  const auto numbered = [&](const DirectoryEntry& entry) {
    return emit({entry.name, numbering_.inode(found->index, entry.node), entry.type, entry.size, entry.next,
                 &found->mounted->ownership, found->index, entry.node});
  };
  return found->mounted->tree->list(found->node, place, numbered, goal);
}

std::uint64_t MountTree::inode(std::uint64_t directory) const {
  auto found = find(directory);
  return is_own_root(directory) || !found ? kRootNumber : numbering_.inode(found->index, found->node);
}

std::uint64_t MountTree::parent_inode(std::uint64_t directory) const {
  auto found = find(directory);
  if (is_own_root(directory) || !found || found->node == Node{}) return kRootNumber;
  return numbering_.inode(found->index, found->mounted->tree->parent(found->node));
}

Result<std::string> MountTree::target(std::uint64_t link) const {
  auto found = find(link);
  if (!found) return std::move(found).error();
  return found->mounted->tree->target(found->node);
}

Result<Slice> MountTree::read(std::uint64_t file, std::uint64_t offset, std::uint64_t length, Goal& goal) const {
  auto found = find(file);
  if (!found) return std::move(found).error();
  return found->mounted->tree->read(found->node, offset, length, goal);
}

bool MountTree::is_record(std::uint64_t number) const {
  if (is_own_root(number)) return false;
  const auto found = numbering_.find(number);
  return found && found->node.kind == NodeKind::kRecord;
}

void MountTree::walk_on(std::uint64_t record, const std::function<bool(std::uint64_t, Bytes)>& take) const {
  auto found = find(record);
  if (!found || found->node.kind != NodeKind::kRecord) return;
  const RecordStore& store = found->mounted->tree->store();
  Goal goal;
  const auto from = store.record_at(found->node.value, goal);
  if (!from) return;
  store.walk_on(*from, [&](const RecordRef& behind, Bytes bytes) {
    const auto address = store.address(behind.chunk, behind.index);
    return address && take(numbering_.number(found->index, {NodeKind::kRecord, *address}), bytes);
  });
}

std::uint64_t MountTree::known_records() const {
  std::uint64_t records = 0;
  for (const Mounted& mounted : mounted_) records += mounted.tree->store().state().totals.records;
  return records;
}

std::uint64_t MountTree::total_size() const {
  std::uint64_t size = 0;
  for (const Mounted& mounted : mounted_) size += mounted.tree->store().source().size();
  return size;
}

}  // namespace recordfs
