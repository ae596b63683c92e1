#include "fusefs/tree/data_set/data_set_shards.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "fusefs/tree/data_set/set_nodes.h"

namespace recordfs {
namespace {

using namespace std::chrono_literals;

constexpr auto kShardIdle = 30s;  // how long unused containers stay open
constexpr auto kShardSweep = 10s;

constexpr mode_t kOwner = 0700;
constexpr mode_t kAccess = 7;  // of one class

bool is_later(const timespec& one, const timespec& other) {
  return one.tv_sec != other.tv_sec ? one.tv_sec > other.tv_sec : one.tv_nsec > other.tv_nsec;
}

// Returns the permissions on one of several files that do not depend on a reader's class. If the files differ in owner
// or group, a reader may be the owner of one, in the group of another, and neither for a third. The user of the mount,
// with the permissions `of_mounter`, then owns what the files contain together.
mode_t narrowed(mode_t mode, bool has_one_owner, bool has_one_group, mode_t of_mounter) {
  mode_t owner = mode & kOwner;
  mode_t group = mode >> 3 & kAccess;
  mode_t others = mode & kAccess;
  if (!has_one_group) group = others = group & others;
  if (!has_one_owner) {
    group &= owner >> 6 & others;
    others = group;
    owner = of_mounter & kOwner;
  }
  return owner | group << 3 | others;
}

}  // namespace

Ownership common_ownership(std::span<const Ownership> ownerships) {
  if (ownerships.empty()) return {::geteuid(), ::getegid(), 0, 0, {}};
  Ownership common = ownerships.front();
  const bool has_one_owner = std::ranges::all_of(ownerships, [&](const auto& one) { return one.uid == common.uid; });
  const bool has_one_group = std::ranges::all_of(ownerships, [&](const auto& one) { return one.gid == common.gid; });
  // The daemon reads with this user's permissions, so it cannot give the user more.
  if (!has_one_owner) common.uid = ::geteuid();
  common.file_mode = 0444;
  common.directory_mode = directory_mode_for(0444);
  for (const Ownership& one : ownerships) {
    common.file_mode &= narrowed(one.file_mode, has_one_owner, has_one_group, 0444);
    common.directory_mode &= narrowed(one.directory_mode, has_one_owner, has_one_group, directory_mode_for(0444));
    if (is_later(one.modified, common.modified)) common.modified = one.modified;
  }
  return common;
}

DataSetShards::DataSetShards(DataSetSource source, TreeContext& cache)
    : open_(std::move(source.open)),
      known_(std::move(source.known)),
      format_(source.format),
      most_shards_(source.most_shards),
      numbers_(std::max(source.list.shards.size(), source.most_shards)),
      cache_(cache),
      closers_(kShardSweep, [this] { containers_.drop_unused_since(std::chrono::steady_clock::now() - kShardIdle); }),
      stored_(source.stored),
      ownerships_(std::move(source.ownerships)),
      set_(
          std::move(source.list),
          [this](const RequestContext& context, std::size_t number, const Shard&) { return open(context, number); },
          {.open_shards = kOpenStores}, known_),
      ownership_(common({})),
      first_modified_(ownership_.modified) {
  for (std::size_t shard = 0; shard < size(); ++shard) names_.add(set_.shard(shard).path);
}

// The sweeps use containers_. What is closed after closers_ has stopped is closed by the calling thread.
DataSetShards::~DataSetShards() {
  sizes_.reset();
  containers_.drop_unused_since(std::chrono::steady_clock::time_point::max());
  closers_.stop();
}

Ownership DataSetShards::ownership() const {
  const std::lock_guard lock(mutex_);
  return ownership_;
}

Ownership DataSetShards::ownership(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  return ownerships_[shard];
}

// `more` are shards whose ownerships are the last ones. REQUIRES: mutex_ is locked, or no other thread uses this.
Ownership DataSetShards::common(std::span<const Shard> more) const {
  std::vector<Ownership> present;
  for (std::size_t shard = 0; shard < ownerships_.size(); ++shard) {
    const bool is_missing = shard < size() ? set_.shard(shard).is_missing : more[shard - size()].is_missing;
    if (!is_missing) present.push_back(ownerships_[shard]);
  }
  return common_ownership(present);
}

// Makes the data set's permissions those that all shards will have, and names the new ones. Returns whether owner or
// permissions have changed.
bool DataSetShards::prepare(const AppendedShards& more) {
  const std::lock_guard lock(mutex_);
  ownerships_.insert(ownerships_.end(), more.ownerships.begin(), more.ownerships.end());
  for (const Shard& shard : more.shards) names_.add(shard.path);
  Ownership with_more = common(more.shards);
  latest_ = std::exchange(with_more.modified, ownership_.modified);
  const Ownership before = std::exchange(ownership_, with_more);
  return before.uid != ownership_.uid || before.gid != ownership_.gid || before.file_mode != ownership_.file_mode ||
         before.directory_mode != ownership_.directory_mode;
}

void DataSetShards::append(const RequestContext& context, AppendedShards more, const std::function<void()>& changed) {
  if (prepare(more)) changed();
  stored_.fetch_add(more.stored, std::memory_order_relaxed);
  set_.append(context, std::move(more.shards));
  do {
    set_modified();
    changed();
  } while (append_sizes(context));
}

// Appends the shards to sizes() too, if that was called before. Returns whether it was.
bool DataSetShards::append_sizes(const RequestContext& context) {
  DataSet* sizes = nullptr;
  std::vector<Shard> more;
  {
    const std::lock_guard lock(mutex_);
    if (sizes_ == nullptr) return false;
    sizes = sizes_.get();
    for (std::size_t shard = sizes->size(); shard < size(); ++shard) more.push_back(set_.shard(shard));
  }
  if (more.empty()) return false;
  sizes->append(context, std::move(more));
  return true;
}

// Makes the time of the data set later than before, and the edition larger.
void DataSetShards::set_modified() {
  ++edition_;
  const std::lock_guard lock(mutex_);
  ownership_.modified = later(ownership_.modified, latest_);
}

std::string_view DataSetShards::name(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  return names_.name(shard);
}

std::optional<std::size_t> DataSetShards::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return names_.find(name);
}

// The last user of a store may be the thread of its catalog, which a destructor would join. So another thread closes
// it.
Result<std::shared_ptr<const RecordStore>> DataSetShards::open(const RequestContext& context, std::size_t shard) {
  using Store = std::shared_ptr<const RecordStore>;
  static_cast<void>(closers_.wait_for_room());
  ASSIGN_OR_RETURN(auto store, open_(context, shard));
  const std::uint64_t filesystem = store->source().filesystem();
  ASSIGN_OR_RETURN(auto closed, closers_.closed_later(filesystem, std::make_unique<Store>(std::move(store))));
  return Store(closed, closed->get());
}

DataSet& DataSetShards::sizes() {
  const std::lock_guard lock(mutex_);
  if (sizes_ == nullptr) {
    const auto open_again = [this](const RequestContext& context, std::size_t number, const Shard&) {
      return set_.open(context, number);
    };
    ShardList list;
    for (std::size_t shard = 0; shard < size(); ++shard) list.shards.push_back(set_.shard(shard));
    sizes_ = std::make_unique<DataSet>(std::move(list), open_again,
                                       DataSet::Bounds{.open_shards = 1, .detail = ScanDetail::kSizes}, known_);
  }
  return *sizes_;
}

Result<DataSetShards::Pointer> DataSetShards::container(const RequestContext& context, std::size_t shard) {
  if (auto known = containers_.find(shard)) return *known;
  ASSIGN_OR_RETURN(const auto store, set_.open(context, shard));
  auto opened = std::make_unique<ContainerNode>();
  opened->id = shard;
  opened->ownership = ownership(shard);
  // The data set itself has cache key 0.
  opened->set_tree(std::make_shared<const ContainerTree>(store, cache_, shard + 1));
  if (!numbers_.has_room_for(opened->tree->values())) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("too large for one of {} shards", std::max(size(), most_shards_))};
  }
  opened->begin = opened->inode_begin = numbers_.begin(shard);
  opened->root_number = opened->root_inode = numbers_.directory(shard);
  opened->parent_inode = number_in(0, {NodeKind::kStatic, kShardDirectories});
  // Its last user may be a thread of the loop, which must not join the thread of a view that hangs.
  ASSIGN_OR_RETURN(auto closed,
                   closers_.closed_later<const ContainerNode>(store->source().filesystem(), std::move(opened)));
  return containers_.add(shard, std::move(closed));
}

}  // namespace recordfs
