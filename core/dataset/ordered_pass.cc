#include "core/dataset/ordered_pass.h"

#include <algorithm>
#include <iterator>

#include "core/base/read_window.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kSmallFile = 64u << 10;    // takes no longer than to start a thread
constexpr std::uint64_t kSmallRecord = 16u << 10;  // mean size

// Reads a split of a container that is not in file order, in file order, on the calling thread.
Result<ScanEnd> read_in_file_order(const RequestContext& context, const PassPart& part, const ProcessStep& work) {
  ASSIGN_OR_RETURN(const auto content, content_of(context, *part.split, part.store));
  ScanEnd end;
  const auto take = [&](const ScannedStep& step) {
    const OrderedResult finish = work(context, step);
    end.was_stopped = finish && !finish();
    return !end.was_stopped;
  };
  const auto take_damage = [&](const DamagedRegion& region) {
    return take({.indexed = {}, .damage = {DamageRow{.region = region}}});
  };
  const auto take_chunk = [&](const IndexedChunk& indexed) { return take({.indexed = indexed, .damage = {}}); };
  static_cast<void>(std::ranges::all_of(content.damage, take_damage) &&
                    std::ranges::all_of(content.chunks, take_chunk));
  return end;
}

// Returns how many of `threads` make the pass faster.
unsigned useful_threads(const PassPart& part, unsigned threads) {
  const RecordStore& store = part.store;
  if (threads <= 1 || store.source().size() <= kSmallFile) return 1;
  const bool is_remote = store.source().filesystem() != 0;  // a scan would read the first chunk again
  if (!part.is_light || is_remote || store.bulk() == nullptr || !store.bulk()->plans_records()) return threads;
  ReadWindow window({}, store.source());
  const auto first = store.index().first_with_records(RequestContext().with(window));
  if (!first || !*first) return threads;
  const ChunkInfo& chunk = **first;
  const bool is_small = chunk.stored_size / chunk.records.value_or(1) <= kSmallRecord;
  return is_small && chunk.codec == "none" ? 1 : threads;
}

}  // namespace

bool PassPart::has(const DamageRow& row) const {
  return split ? split->owns(row.region.begin) : selection.lies_inside(row.first_ordinal);
}

bool PassPart::has(const IndexedChunk& indexed) const {
  if (split) return split->owns(indexed.chunk.begin);
  return !within(indexed).is_empty() || selection.lies_inside(indexed.before.records);
}

OrdinalInterval PassPart::within(const IndexedChunk& indexed) const {
  return split ? OrdinalInterval{.begin = 0, .end = indexed.chunk.records.value_or(0)} : selection.within(indexed);
}

OrdinalInterval PassPart::within(const ScannedBatch& batch) const {
  const RecordBatch& content = batch.content;
  if (!split) return selection.within(batch.before.records, content.run.records);
  // The first chunks may begin before the split.
  OrdinalInterval which{.begin = 0, .end = content.run.records};
  for (const BatchChunk& chunk : content.chunks) {
    if (split->owns(chunk.begin)) break;
    which.begin += chunk.records;
  }
  return which;
}

Result<ScanEnd> read_part(const PassPart& part, ScanOptions options, const ProcessStep& work,
                          const ProcessBatch& work_on_batch) {
  const RequestContext context = options.cancelled == nullptr ? RequestContext() : RequestContext(*options.cancelled);
  if (!part.split && part.selection.is_empty()) return ScanEnd{};
  options.threads = useful_threads(part, options.threads);
  if (!part.split) {
    options.from = part.selection.from;
    options.end_record = part.selection.records.end;
  } else if (part.store.traits().is_in_file_order) {
    ASSIGN_OR_RETURN(options.from, start_of(context, *part.split, part.store));
    options.end_position = part.split->end;
  } else {
    return read_in_file_order(context, part, work);
  }
  const auto has = [&part](const DamageRow& row) { return part.has(row); };
  const auto work_on_step = [&](const RequestContext& working, const ScannedStep& step) -> OrderedResult {
    const bool has_chunk = step.indexed && part.has(*step.indexed);
    if (has_chunk && std::ranges::all_of(step.damage, has)) return work(working, step);
    ScannedStep own;
    std::ranges::copy_if(step.damage, std::back_inserter(own.damage), has);
    if (has_chunk) own.indexed = step.indexed;
    return has_chunk || !own.damage.empty() ? work(working, own) : OrderedResult();
  };
  return scan(part.store, options, work_on_step, work_on_batch);
}

Result<std::shared_ptr<const Layout>> layout_of(const RequestContext& context, const RecordStore& store,
                                                const ChunkInfo& chunk) {
  if (chunk.layout_cost == LayoutCost::kSmall) return store.chunks().layout(context, chunk);
  ASSIGN_OR_RETURN(auto decoded, store.chunks().decode_uncached(context, chunk));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

std::optional<std::uint64_t> each_shard(const DataSet& set, const OrdinalInterval& wanted, const RecordInShard& first,
                                        const ReadShard& read) {
  std::uint64_t base = wanted.begin - std::min(wanted.begin, first.ordinal);
  for (std::size_t shard = first.shard; !wanted.is_empty() && shard < set.size() && base < wanted.end; ++shard) {
    const auto records = read(shard, base,
                              {.begin = wanted.begin - std::min(wanted.begin, base),
                               .end = wanted.end == UINT64_MAX ? UINT64_MAX : wanted.end - base});
    if (!records) return std::nullopt;
    base += *records;
  }
  return base;
}

}  // namespace recordfs
