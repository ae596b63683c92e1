// info.json and index/ of a data set: generated files that describe it.
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/cancellable_mutex.h"
#include "core/base/utf8.h"
#include "core/dataset/missing_shards.h"
#include "core/decoding/json_writer.h"
#include "fusefs/tree/data_set/set_views.h"
#include "fusefs/tree/generated_files.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostDamageRows = 65536;
constexpr std::size_t kMostNamed = 100;  // missing and unreadable shards in info.json

std::string_view class_of(const Error& error) {
  const bool is_supported = error.code != Code::kUnsupported && error.code != Code::kLimit;
  return to_string(is_supported ? DamageClass::kDamage : DamageClass::kUnsupported);
}

// The members of a list are the shards' names.
JsonObject::List named(const DataSetShards& shards, const std::vector<std::size_t>& numbers) {
  JsonObject::List list;
  for (const std::size_t number : numbers) {
    if (list.size() == kMostNamed) break;
    JsonObject& item = list.emplace_back();
    item.set("shard", std::uint64_t{number});
    item.set("name", JsonPath{std::string(shards.name(number))});
  }
  return list;
}

// A range of missing shards is an item with the name of the first one.
JsonObject::List named(const DataSetShards& shards, const std::vector<MissingShards>& missing) {
  JsonObject::List list;
  for (const MissingShards& range : missing) {
    if (list.size() == kMostNamed) break;
    JsonObject& item = list.emplace_back();
    item.set("shard", std::uint64_t{range.first});
    item.set("name", JsonPath{std::string(shards.name(range.first))});
    if (range.count == 1) continue;
    item.set("shards", range.numbers);
    item.set("count", std::uint64_t{range.count});
  }
  return list;
}

std::string first_line() { return std::string("shard\t").append(kDamageColumns); }

// Counted shards by their format.
JsonObject formats_of(DataSet& set, std::size_t counted) {
  std::map<std::string_view, std::uint64_t> numbers;
  for (std::size_t shard = 0; shard < counted; ++shard) {
    const auto counts = set.counts(shard);
    if (counts && !counts->format.empty()) ++numbers[counts->format];
  }
  JsonObject formats;
  for (const auto& [format, number] : numbers) formats.set(format, number);
  return formats;
}

void add_counts(JsonObject& object, const DataSetTotals& totals) {
  object.set("chunks", totals.chunks);
  object.set("records", totals.records);
  object.set("damage_scope", "headers");  // as in a container's summary.json
  object.set("damaged_regions", totals.damaged_regions);
}

class SetTablesView final : public View {
 public:
  SetTablesView(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache)
      : View(nodes), shards_(shards), cache_(cache) {}

  // info.json has what is known without opening a shard, and the counts as far as they are known at the first call.
  // Opens no shard. The text is the same until more shards are appended. The others are kPending until all shards are
  // counted.
  Result<Slice> contents(const RequestContext& context, Node file) const override {
    const auto slice_of = [](const Text& text) { return Slice{as_bytes(*text), text}; };
    switch (file.value) {
      case kSetInfo: {
        ASSIGN_OR_RETURN(const auto text, infos_.get(shards_.edition(), [this] { return make_info(); }));
        return slice_of(text);
      }
      case kSetSummary: {
        ASSIGN_OR_RETURN(auto text, make_summary());
        return slice_of(std::make_shared<const std::string>(std::move(text)));
      }
      case kSetDamageRows: {
        ASSIGN_OR_RETURN(const auto text, damage_rows(context));
        return slice_of(text);
      }
      case kShardRows: break;
      default: return no_such_name();
    }
    TRY(shards_.set().totals());
    const auto make = [&]() -> Document {
      ASSIGN_OR_RETURN(auto rows, make_shard_rows());
      return std::make_shared<const CachedText>(CachedText{std::move(rows)});
    };
    // The data set itself has cache key 0.
    return contents_of(cache_.documents.get(context, {0, shards_.edition()}, make));
  }

 private:
  using Text = std::shared_ptr<const std::string>;

  Result<std::string> make_info() const {
    DataSet& set = shards_.set();
    std::vector<std::size_t> unreadable;
    const DataSet::Progress progress = set.progress();
    const auto missing = missing_shards(progress.all, [&set](std::size_t i) -> const Shard& { return set.shard(i); });
    std::uint64_t missing_count = 0;
    for (const MissingShards& range : missing) missing_count += range.count;
    for (std::size_t shard = 0; shard < progress.shards; ++shard) {
      if (!set.shard(shard).is_missing && set.failure(shard)) unreadable.push_back(shard);
    }
    JsonObject info;
    info.set("shards", std::uint64_t{progress.all});
    if (!shards_.format().empty()) info.set("format", shards_.format());
    info.set("size", shards_.stored());
    info.set("missing", missing_count);
    if (!missing.empty()) info.set("missing_shards", named(shards_, missing));
    info.set("counted_shards", std::uint64_t{progress.shards});
    if (progress.shards == progress.all) {
      info.set("unreadable", std::uint64_t{unreadable.size()});
      info.set("formats", formats_of(set, progress.shards));
      add_counts(info, progress.totals);
    }
    if (!unreadable.empty()) info.set("unreadable_shards", named(shards_, unreadable));
    return to_json(info, JsonLayout::kIndented);
  }

  Result<std::string> make_summary() const {
    DataSet& set = shards_.set();
    ASSIGN_OR_RETURN(const auto totals, set.totals());
    JsonObject summary;
    summary.set("shards", std::uint64_t{set.size()});
    summary.set("missing", std::uint64_t{set.missing()});
    summary.set("unreadable", std::uint64_t{totals.unopened - set.missing()});
    summary.set("formats", formats_of(set, set.size()));
    summary.set("size", totals.stored);
    add_counts(summary, totals);
    return to_json(summary, JsonLayout::kIndented);
  }

  Result<std::string> make_shard_rows() const {
    DataSet& set = shards_.set();
    std::string rows = "shard\tname\tstate\tformat\tsize\tfirst_ordinal\trecords\tchunks\tdamaged_regions\n";
    for (std::size_t shard = 0; shard < set.size(); ++shard) {
      ASSIGN_OR_RETURN(const auto counts, set.counts(shard));
      const bool is_missing = set.shard(shard).is_missing;
      const std::string_view state = is_missing ? "missing" : set.failure(shard) ? "unreadable" : "readable";
      rows += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", shard, printable(shards_.name(shard)), state,
                          counts.format.empty() ? "-" : counts.format, counts.stored, counts.first_ordinal,
                          counts.records, counts.chunks, counts.damaged_regions);
    }
    return rows;
  }

  // Returns a row for each range of missing shards and each shard that cannot be opened, and the rows of the others;
  // the first 65,536. Scans the damaged shards again.
  Result<Text> damage_rows(const RequestContext& context) const {
    TRY(shards_.set().totals());
    const std::size_t shards = shards_.size();
    {
      const std::lock_guard lock(mutex_);
      if (damage_ != nullptr && damage_shards_ >= shards) return damage_;
    }
    ASSIGN_OR_RETURN(const auto alone, adding_.lock(context));
    // Continues the text that has the rows of fewer shards.
    if (unfinished_.empty()) unfinished_ = finished_ == nullptr ? first_line() : *finished_;
    while (next_ < shards && rows_ < kMostDamageRows) {
      TRY(shards_.set().shard(next_).is_missing ? add_missing(shards) : add_damage(context));
    }
    finished_ = std::make_shared<const std::string>(std::exchange(unfinished_, {}));
    const std::lock_guard lock(mutex_);
    damage_shards_ = std::max(damage_shards_, shards);
    damage_ = finished_;
    return damage_;
  }

  // The following append the rows of the next shards, of which one that is not missing, to unfinished_.
  // A range of missing shards has one row, with the name of the first one.
  Result<void> add_missing(std::size_t shards) const {
    DataSet& set = shards_.set();
    const std::size_t first = next_;
    ASSIGN_OR_RETURN(const auto counts, set.counts(first));
    while (next_ < shards && set.shard(next_).is_missing) ++next_;
    const auto shard = [&](std::size_t i) -> const Shard& { return set.shard(first + i); };
    for (const MissingShards& range : missing_shards(next_ - first, shard)) {
      if (rows_ == kMostDamageRows) break;
      const std::string reason = range.count == 1
                                     ? "this shard is missing"
                                     : fmt::format("shards {} ({}) are missing", range.numbers, range.count);
      unfinished_ += fmt::format("{}\t0\t0\t{}\t-\t{}\t{}\n", printable(shards_.name(first + range.first)),
                                 counts.first_ordinal, to_string(DamageClass::kDamage), reason);
      ++rows_;
    }
    return {};
  }

  Result<void> add_damage(const RequestContext& context) const {
    DataSet& set = shards_.set();
    ASSIGN_OR_RETURN(const auto counts, set.counts(next_));
    const std::string name = printable(shards_.name(next_));
    std::string rows;
    std::size_t number = 0;
    if (const auto failure = set.failure(next_)) {
      rows = fmt::format("{}\t0\t{}\t{}\t-\t{}\t{}\n", name, counts.stored, counts.first_ordinal, class_of(*failure),
                         printable(to_string(*failure)));
      number = 1;
    } else if (counts.damaged_regions > 0) {
      ASSIGN_OR_RETURN(const auto container, shards_.container(context, next_));
      ASSIGN_OR_RETURN(const auto damage, kept_open(container, container->tree->store().index().damage()));
      for (const DamageRow& row : *damage) {
        if (rows_ + number == kMostDamageRows) break;
        rows += fmt::format("{}\t{}", name, damage_row(row, counts.first_ordinal));
        ++number;
      }
    }
    unfinished_ += rows;
    rows_ += number;
    ++next_;
    return {};
  }

  DataSetShards& shards_;
  TreeContext& cache_;
  const LazyMap<std::string> infos_{};  // by DataSetShards::edition()
  mutable std::mutex mutex_;            // guards the next two
  mutable Text damage_;
  mutable std::size_t damage_shards_ = 0;  // that damage_ includes
  mutable CancellableMutex adding_;        // held while a shard is scanned; guards the following
  mutable Text finished_;                  // damage_
  mutable std::string unfinished_;  // the first line and the rows of the shards before next_; empty: as in finished_
  mutable std::size_t next_ = 0;
  mutable std::size_t rows_ = 0;
};

}  // namespace

SetViewPointer make_set_tables_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache) {
  return std::make_unique<SetTablesView>(nodes, shards, cache);
}

}  // namespace recordfs
