#include "fusefs/tree/joined/joined_shards.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

using namespace std::chrono_literals;

constexpr auto kShardIdle = 30s;  // how long unused containers stay open
constexpr auto kShardSweep = 10s;

// Numbers do not depend on how many shards there are, up to 32,767 of them.
constexpr int kLeastShardBits = 15;
constexpr std::size_t kLongestShardName = 255;

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

std::string_view shard_file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_usable_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kLongestShardName;
}

std::vector<Ownership> present(const ShardList& list, const std::vector<Ownership>& ownerships) {
  std::vector<Ownership> kept;
  for (std::size_t i = 0; i < list.shards.size(); ++i) {
    if (!list.shards[i].is_missing) kept.push_back(ownerships[i]);
  }
  return kept;
}

std::size_t number_of(const Shard& shard, const DataSet& set) {
  return static_cast<std::size_t>(&shard - set.list().shards.data());
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
  common.directory_mode = 0555;
  for (const Ownership& one : ownerships) {
    common.file_mode &= narrowed(one.file_mode, has_one_owner, has_one_group, 0444);
    common.directory_mode &= narrowed(one.directory_mode, has_one_owner, has_one_group, 0555);
    if (is_later(one.modified, common.modified)) common.modified = one.modified;
  }
  return common;
}

unsigned JoinedShards::value_bits(std::size_t shards) {
  return static_cast<unsigned>(kValueBits - std::max(kLeastShardBits, static_cast<int>(std::bit_width(shards))));
}

JoinedShards::JoinedShards(JoinedSource source, CachedFiles& cache)
    : open_(std::move(source.open)),
      ownerships_(std::move(source.ownerships)),
      ownership_(common_ownership(present(source.list, ownerships_))),
      stored_(source.stored),
      format_(source.format),
      value_bits_(value_bits(source.list.shards.size())),
      cache_(cache),
      closers_(kShardSweep, [this] { containers_.drop_unused_since(std::chrono::steady_clock::now() - kShardIdle); }),
      set_(std::move(source.list),
           [this](const RequestContext& context, const Shard& shard) { return open(context, number_of(shard, set_)); },
           {.open_shards = kOpenStores}) {
  name_shards();
}

// The sweeps use containers_. What is closed after closers_ has stopped is closed by the calling thread.
JoinedShards::~JoinedShards() {
  sizes_.reset();
  containers_.drop_unused_since(std::chrono::steady_clock::time_point::max());
  closers_.stop();
}

void JoinedShards::name_shards() {
  by_name_.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string_view own = shard_file_name(set_.shard(i).path);
    if (is_usable_name(own) && by_name_.emplace(own, i).second) continue;
    const std::string stem =
        is_usable_name(own) ? std::string(own.substr(0, kLongestShardName - 16)) : fmt::format("shard-{}", i);
    std::string name = stem;
    for (int copy = 2; by_name_.contains(name); ++copy) name = fmt::format("{}~{}", stem, copy);
    by_name_.emplace(renamed_.emplace(i, std::move(name)).first->second, i);
  }
}

std::string_view JoinedShards::name(std::size_t shard) const {
  const auto found = renamed_.find(shard);
  return found == renamed_.end() ? shard_file_name(set_.shard(shard).path) : found->second;
}

std::optional<std::size_t> JoinedShards::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

// The last user of a store may be the thread of its catalog, which a destructor would join. So another thread closes
// it.
Result<std::shared_ptr<const RecordStore>> JoinedShards::open(const RequestContext& context, std::size_t shard) {
  using Store = std::shared_ptr<const RecordStore>;
  ASSIGN_OR_RETURN(auto store, open_(context, shard));
  const std::uint64_t filesystem = store->source().filesystem();
  ASSIGN_OR_RETURN(auto closed, closers_.closed_later(filesystem, std::make_unique<Store>(std::move(store))));
  return Store(closed, closed->get());
}

DataSet& JoinedShards::sizes() {
  const std::lock_guard lock(mutex_);
  if (sizes_ == nullptr) {
    const auto open_again = [this](const RequestContext& context, const Shard& shard) {
      return set_.open(context, number_of(shard, *sizes_));
    };
    sizes_ = std::make_unique<DataSet>(set_.list(), open_again,
                                       DataSet::Bounds{.open_shards = 1, .detail = ScanDetail::kSizes});
  }
  return *sizes_;
}

std::optional<InodeTable::ResolvedInode> JoinedShards::resolve(std::uint64_t number) const {
  const std::uint64_t value = number % kValuesOfAKind;
  const std::uint64_t place = value >> value_bits_;
  if (node_kind(number) >= NodeKind::kComputedEnd || place == 0 || place > size()) return std::nullopt;
  const std::uint64_t in_shard = value - (place << value_bits_);
  return InodeTable::ResolvedInode{place - 1, {node_kind(number), in_shard}};
}

bool JoinedShards::is_own(std::uint64_t number) const {
  return node_kind(number) < NodeKind::kComputedEnd && (number % kValuesOfAKind) >> value_bits_ == 0;
}

Result<JoinedShards::Pointer> JoinedShards::container(const RequestContext& context, std::size_t shard) {
  if (auto known = containers_.find(shard)) return *known;
  ASSIGN_OR_RETURN(const auto store, set_.open(context, shard));
  auto opened = std::make_shared<ContainerNode>();
  opened->id = shard;
  opened->ownership = ownerships_[shard];
  // The data set itself has cache key 0.
  opened->tree = std::make_shared<const ContainerTree>(store, cache_, shard + 1);
  if (opened->tree->values() >> value_bits_ != 0) {
    return Error{.code = Code::kLimit, .detail = fmt::format("too large for one of {} shards", size())};
  }
  opened->begin = opened->inode_begin = begin(shard);
  opened->root_number = opened->root_inode = number(shard);
  return containers_.add(shard, std::move(opened));
}

}  // namespace recordfs
