#include "core/dataset/opened_set.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "core/base/fork.h"
#include "core/base/sandbox.h"
#include "core/dataset/saved_counts.h"
#include "core/dataset/shard_versions.h"
#include "core/decoding/chunk_metadata.h"
#include "core/store/open_container.h"
#include "core/store/saved_index.h"
#include "core/store/selection.h"

namespace recordfs {
namespace {

unsigned decoding_threads(unsigned wanted) {
  return wanted != 0 ? wanted : std::max(std::thread::hardware_concurrency(), 1u);
}

Result<void> check_file(SetPlan& plan, std::size_t shard, const std::string& version) {
  const std::lock_guard lock(fork_safe_mutex());
  return check_version(plan.versions, shard, version);
}

OpenShard opener(const std::shared_ptr<SetPlan>& plan, const std::shared_ptr<StoreResources>& services) {
  return [plan, services](const RequestContext& context, std::size_t number,
                          const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
    ASSIGN_OR_RETURN(auto opened, open_file(context, shard.path, plan->limits, *services));
    if (const auto id = opened.store->source().id()) TRY(check_file(*plan, number, id->version));
    return std::move(opened.store);
  };
}

KnownCounts known_counts(const std::shared_ptr<SetPlan>& plan, const std::shared_ptr<StoreResources>& services) {
  return [plan, services](const RequestContext& context, std::size_t number, const Shard& shard,
                          ScanDetail detail) -> std::optional<ShardCounts> {
    return saved_counts(context, *services, shard.path, detail,
                        [&](const SourceId& id) { return check_file(*plan, number, id.version).has_value(); });
  };
}

}  // namespace

SetPlan::SetPlan(ShardList shards, OpenOptions wanted)
    : list(std::move(shards)),
      options(std::move(wanted)),
      limits(options.max_chunk == 0 ? Limits() : limits_for_chunks_of(options.max_chunk)) {}

Result<std::unique_ptr<OpenedSet>> OpenedSet::open(std::shared_ptr<SetPlan> plan) {
  ASSIGN_OR_RETURN(auto index, index_place(plan->options.index, plan->limits));
  // Errors become exceptions, and damage is listed on request.
  auto services = std::make_shared<StoreResources>(plan->options.cache_bytes, executor_threads(),
                                                   [](Severity, const std::string&) {});
  services->index = std::move(index);
  if (services->index) make_directory(*services->index);
  // Threads that parse. The user's own threads stay as they are.
  confine_new_threads(services->index ? services->index->directory : std::string());
  services->limits = plan->limits;
  using FindsUnreadable = StoreResources::FindsUnreadable;
  services->finds_unreadable = plan->options.skips_unreadable ? FindsUnreadable::kAll : FindsUnreadable::kLocal;
  return std::unique_ptr<OpenedSet>(new OpenedSet(std::move(plan), std::move(services)));
}

OpenedSet::OpenedSet(std::shared_ptr<SetPlan> plan, std::shared_ptr<StoreResources> services)
    : plan_(std::move(plan)),
      services_(std::move(services)),
      threads_(decoding_threads(plan_->options.threads)),
      set_(std::make_unique<DataSet>(plan_->list, opener(plan_, services_), DataSet::Bounds{.threads = threads_},
                                     known_counts(plan_, services_))),
      executor_(std::make_unique<Executor>(threads_ - 1)) {}

std::unique_ptr<OpenedSet> OpenedSet::shard(std::size_t shard) const {
  auto plan =
      std::make_shared<SetPlan>(ShardList{.shards = {plan_->list.shards[shard]}, .is_one_file = true}, plan_->options);
  const std::lock_guard lock(fork_safe_mutex());
  const auto known = plan_->versions.find(shard);
  if (known != plan_->versions.end()) plan->versions.emplace(0, known->second);
  return std::unique_ptr<OpenedSet>(new OpenedSet(std::move(plan), services_));
}

Result<void> OpenedSet::check_types_of(const RequestContext& context, const RecordStore& store) const {
  const UserTypes& types = plan_->options.types;
  const bool are_given = !types.type.empty() && types.descriptors != nullptr;
  return are_given ? Result<void>() : check_metadata(context, store.metadata());
}

Result<std::shared_ptr<const RecordStore>> OpenedSet::open_to_decode(const RequestContext& context,
                                                                     std::size_t shard) const {
  ASSIGN_OR_RETURN(auto store, set_->open(context, shard));
  TRY(check_types_of(context, *store));
  return store;
}

Result<std::shared_ptr<const OpenedSet::Decoding>> OpenedSet::decoding(
    std::size_t shard, const std::shared_ptr<const RecordStore>& store) const {
  if (auto known = decoding_.find(shard)) return *known;
  TRY(check_types_of({}, *store));
  return decoding_.add(shard, std::make_shared<const Decoding>(store, plan_->options.types));
}

Result<RecordAndPlace> find_record(const RequestContext& context, const OpenedSet& set, std::uint64_t ordinal) {
  ASSIGN_OR_RETURN(auto place, place_record(context, set.set(), ordinal));
  const RecordStore& store = *place.store;
  ASSIGN_OR_RETURN(const auto chunk, store.chunks().get(context, place.indexed.chunk));
  ASSIGN_OR_RETURN(auto record, store.records().read(context, *chunk, place.index, 0, UINT64_MAX));
  return RecordAndPlace{std::move(place), std::move(record)};
}

SelectOfShard selector(const OpenedSet& set, std::shared_ptr<const RecordCondition> condition) {
  return [&set, condition = std::move(condition)](std::size_t shard,
                                                  const std::shared_ptr<const RecordStore>& store) -> SelectRecord {
    const Shard& named = set.plan().list.shards[shard];
    return [condition, &named, decoding = set.decoding(shard, store)](const ChunkInfo& chunk,
                                                                      Bytes record) -> Result<bool> {
      if (!decoding) return decoding.error();
      return condition->matches({}, (*decoding)->decoder, chunk, record,
                                {.path = named.path, .path_in_set = named.path_in_set()});
    };
  };
}

std::string path_in(const OpenedSet& set, const Error& error) {
  const auto& shards = set.plan().list.shards;
  const auto is_named = [&](const Shard& shard) {
    return error.detail.starts_with(shard.path) && error.detail.compare(shard.path.size(), 2, ": ") == 0;
  };
  const auto named = set.has_one_shard() ? shards.begin() : std::ranges::find_if(shards, is_named);
  return named == shards.end() ? std::string() : named->path;
}

std::string path_of_record(const OpenedSet& set, std::uint64_t ordinal, const Error& error) {
  const auto place = set.set().locate(ordinal);
  return place && !set.has_one_shard() ? set.plan().list.shards[place->shard].path : path_in(set, error);
}

}  // namespace recordfs
