#include "core/python/losses.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/store/wait_ticket.h"

namespace recordfs::python {
namespace {

// Finds the losses of one data set.
class Finder {
 public:
  Finder(const RequestContext& context, const OpenedSet& set, OrdinalInterval span, std::size_t most)
      : context_(context), set_(set.set()), span_(span), most_(most) {
    for (MissingShards& missing : missing_shards(set)) missing_.emplace(missing.first, std::move(missing));
  }

  Result<std::vector<Loss>> run() {
    ASSIGN_OR_RETURN(const auto totals, wait_for(context_, [&] { return set_.totals(); }));
    records_ = totals.records;
    for (std::size_t shard = 0; shard < set_.size() && found_.size() < most_;) {
      ASSIGN_OR_RETURN(const auto counts, set_.counts(shard));
      if (const auto missing = missing_.find(shard); missing != missing_.end()) {
        add(counts.first_ordinal, missing->second.path, {.code = Code::kDamage, .detail = missing->second.message()});
        shard += missing->second.count;
        continue;
      }
      TRY(take(shard, counts));
      ++shard;
    }
    return std::move(found_);
  }

 private:
  Result<void> take(std::size_t shard, const ShardCounts& counts) {
    const std::string& path = set_.shard(shard).path;
    if (auto failure = set_.failure(shard)) {
      add(counts.first_ordinal, path, std::move(*failure));
      return {};
    }
    const std::uint64_t after = counts.first_ordinal + counts.records;
    if (counts.damaged_regions == 0 || after < span_.begin || counts.first_ordinal > span_.end) return {};
    ASSIGN_OR_RETURN(const auto store, set_.open(context_, shard));
    ASSIGN_OR_RETURN(const auto rows, wait_for(context_, [&] { return store->index().damage(); }));
    for (const DamageRow& row : *rows) {
      if (row.region.damage_class == DamageClass::kStale) continue;
      add(counts.first_ordinal + row.first_ordinal, path, error_of(row.region));
    }
    return {};
  }

  // `ordinal`: of the first record after it.
  void add(std::uint64_t ordinal, const std::string& path, Error error) {
    const bool is_at_end = ordinal >= records_;
    const bool is_after_begin = span_.begin == 0 || ordinal > span_.begin || (is_at_end && span_.begin >= records_);
    const bool is_before_end = ordinal < span_.end || (is_at_end && span_.end >= records_);
    if (is_after_begin && is_before_end && found_.size() < most_) found_.push_back({path, std::move(error)});
  }

  const RequestContext& context_;
  DataSet& set_;
  const OrdinalInterval span_;
  const std::size_t most_;
  std::map<std::size_t, MissingShards> missing_;  // by first shard
  std::uint64_t records_ = 0;
  std::vector<Loss> found_;
};

}  // namespace

Result<std::vector<Loss>> losses(const RequestContext& context, const OpenedSet& set, OrdinalInterval span,
                                 std::size_t most) {
  return Finder(context, set, span, most).run();
}

std::vector<MissingShards> missing_shards(const OpenedSet& set) { return recordfs::missing_shards(set.plan().list); }

}  // namespace recordfs::python
