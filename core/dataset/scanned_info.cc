#include "core/dataset/scanned_info.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/dataset/missing_shards.h"
#include "core/dataset/ordered_pass.h"
#include "core/store/container_info.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Returns the metadata values that differ from those of the chunk before, in the container's order.
Result<JsonObject::List> later_metadata(const RecordStore& store, unsigned threads) {
  constexpr std::size_t kMost = 1000;
  JsonObject::List later;
  std::optional<std::map<std::string, std::string>> current;
  std::optional<Error> failure;
  const auto compare = [&](const ChunkInfo& chunk) {
    auto attributes = store.metadata()->attributes_at({}, chunk);
    if (!attributes) {
      if (!is_permanent(attributes.error().code)) failure = std::move(attributes).error();
      return !failure;
    }
    const bool is_first = !current;
    if (is_first) current.emplace();
    for (Attribute& attribute : *attributes) {
      std::string& value = (*current)[attribute.key];
      if (!is_first && value != attribute.value) {
        later.push_back(std::move(list_of(std::vector<Attribute>{attribute}).front()));
        later.back().set("begin", chunk.begin);
      }
      value = std::move(attribute.value);
    }
    return later.size() < kMost;
  };
  TRY(read_part({.store = store}, {.threads = threads},
                [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
                  if (!step.indexed) return {};
                  return [&compare, chunk = step.indexed->chunk] { return compare(chunk); };
                }));
  if (failure) return std::move(*failure);
  return later;
}

// The shards of one format.
struct FormatSums {
  std::uint64_t shards = 0, records = 0, stored = 0;
};

// Returns an object for each shard, and for consecutive missing ones. Adds up the shards of each format.
JsonObject::List shards_of(DataSet& set, std::map<std::string_view, FormatSums>& formats) {
  JsonObject::List shards;
  const auto gaps = missing_shards(set.size(), [&set](std::size_t i) -> const Shard& { return set.shard(i); });
  auto gap = gaps.begin();
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool is_missing = set.shard(i).is_missing;
    if (is_missing && (gap == gaps.end() || gap->first != i)) continue;
    JsonObject& shard = shards.emplace_back();
    if (is_missing && !gap->numbers.empty()) {
      shard.set("shards", gap->numbers);
      shard.set("count", std::uint64_t{gap->count});
    } else {
      shard.set("shard", JsonPath{std::string(set.name(i))});
    }
    if (is_missing) {
      shard.set("error", "missing");
      ++gap;
    } else if (const auto failure = set.failure(i)) {
      // A file that does not exist has no byte to name.
      shard.set("error", failure->code == Code::kNotFound ? failure->detail : to_string(*failure));
    } else if (const auto counts = set.counts(i)) {
      shard.set("format", counts->format);
      shard.set("first_ordinal", counts->first_ordinal);
      shard.set("records", counts->records);
      shard.set("chunks", counts->chunks);
      shard.set("size", counts->stored);
      shard.set("damaged_regions", counts->damaged_regions);
      FormatSums& sums = formats[counts->format];
      ++sums.shards;
      sums.records += counts->records;
      sums.stored += counts->stored;
    }
  }
  return shards;
}

}  // namespace

Result<void> add_scanned(const RecordStore& store, unsigned threads, DamageReporter& damage, JsonObject& info) {
  ASSIGN_OR_RETURN(const auto totals, wait_for([&] { return store.index().totals(ScanDetail::kSizes); }));
  ASSIGN_OR_RETURN(const auto rows, wait_for([&] { return store.index().damage(); }));
  for (const DamageRow& row : *rows) damage.add(row.region);
  add_totals(info, store, totals, *rows);
  if (store.metadata() != nullptr && store.metadata()->varies()) {
    ASSIGN_OR_RETURN(auto later, later_metadata(store, threads));
    info.set("later_metadata", std::move(later));
  }
  if (const std::uint64_t size = store.source().size(); size > 0) {
    info.set("ratio", std::round(100.0 * static_cast<double>(totals.bytes) / static_cast<double>(size)) / 100);
  }
  return {};
}

std::optional<JsonObject> set_info(SetReader& reader) {
  if (!reader.records()) return std::nullopt;
  DataSet& set = reader.set();
  const DataSetTotals totals = set.progress().totals;
  const std::uint64_t missing = set.missing();
  std::map<std::string_view, FormatSums> sums_by_format;
  JsonObject::List shards = shards_of(set, sums_by_format);
  JsonObject::List formats;
  for (const auto& [name, sums] : sums_by_format) {
    JsonObject& format = formats.emplace_back();
    format.set("format", name);
    format.set("shards", sums.shards);
    format.set("records", sums.records);
    format.set("size", sums.stored);
  }
  JsonObject info;
  info.set("shards", std::uint64_t{set.size()});
  info.set("missing", missing);
  info.set("unreadable", totals.unopened - missing);
  info.set("records", totals.records);
  info.set("chunks", totals.chunks);
  info.set("size", totals.stored);
  info.set("damaged_regions", totals.damaged_regions);
  info.set("formats", std::move(formats));
  info.set("table", std::move(shards));
  return info;
}

}  // namespace recordfs
