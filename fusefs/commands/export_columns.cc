#include "fusefs/commands/export_columns.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/dataset/ordered_pass.h"
#include "core/dataset/record_stream.h"
#include "core/export/row_json.h"
#include "core/export/table_groups.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstRecords = 1024;           // that define the columns
constexpr std::uint64_t kMostFirstBytes = 64u << 20;  // of them

// Returns whether a record of a chunk has columns, among at most `left` ones, which it takes from `left`; nullopt if
// none is readable.
std::optional<bool> has_columns_in(const RequestContext& context, const RecordStore& store, const RowReader& rows,
                                   const ChunkInfo& info, std::uint64_t& left) {
  const auto chunk = store.chunks().decode_ahead(context, info);
  if (!chunk) return std::nullopt;
  const Layout& layout = (*chunk)->layout();
  std::optional<bool> known;
  for (std::uint64_t i = 0; i < layout.records() && left > 0 && !known.value_or(false); ++i, --left) {
    if (layout.failure(i) != nullptr) continue;
    const auto record = store.records().read(context, **chunk, i, 0, UINT64_MAX);
    const auto found = record ? rows.has_columns(context, info, record->bytes) : record.error();
    if (found) known = *found;
  }
  return known;
}

// Gathers the readable records of an interval, up to the limits.
void gather(SetReader& reader, const OrdinalInterval& ordinals, std::vector<std::string>& records,
            std::uint64_t& bytes) {
  RecordStream stream(reader.set(), {.ordinals = ordinals, .threads = 1});
  for (RecordBlock block; records.size() < kFirstRecords && bytes < kMostFirstBytes;) {
    const auto next = stream.next(block, std::chrono::hours(1));
    if (next == RecordStream::Next::kEnd) return;
    if (next == RecordStream::Next::kTimeout) continue;
    for (const Bytes record : block.records.first(std::min(block.records.size(), kFirstRecords - records.size()))) {
      records.emplace_back(as_text(record));
      bytes += record.size();
    }
  }
}

// Returns the readable ones of the first records that are exported. An address counts as all records.
std::vector<std::string> first_records(SetReader& reader, const std::vector<Range>& ranges) {
  std::vector<std::string> records;
  std::uint64_t bytes = 0;
  const bool are_ordinals =
      std::ranges::all_of(ranges, [](const Range& range) { return std::holds_alternative<OrdinalRange>(range); });
  if (ranges.empty() || !are_ordinals) {
    gather(reader, {}, records, bytes);
    return records;
  }
  for (const Range& range : ranges) {
    const auto& wanted = std::get<OrdinalRange>(range);
    const auto count = wanted.counts_from_end() ? reader.records() : std::optional(std::uint64_t{0});
    if (!count) break;  // the pass ends in the same way
    const OrdinalInterval span = span_of(wanted, *count);
    if (!span.is_empty()) gather(reader, span, records, bytes);
  }
  return records;
}

}  // namespace

bool has_columns(SetReader& reader, const UserTypes& types, const Limits& limits) {
  std::optional<bool> found;
  std::uint64_t left = kFirstRecords;
  const auto is_done = [&] { return found.value_or(false) || left == 0; };
  for (std::size_t shard = 0; shard < reader.set().size() && !is_done(); ++shard) {
    const auto store = reader.set().open({}, shard);
    if (!store) continue;
    const RowReader rows(*store, types, limits, ByteForm::kAuto);
    const auto look = [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
      if (!step.indexed || is_done()) return {};
      if (const auto here = has_columns_in(context, **store, rows, step.indexed->chunk, left)) found = here;
      return [&is_done] { return !is_done(); };
    };
    static_cast<void>(read_part({.store = **store}, {.threads = 1}, look));
  }
  return found.value_or(true);
}

Result<FoundTable> find_table(SetReader& reader, const std::vector<Range>& ranges, bool has_columns,
                              const ColumnChoice& choice, const UserTypes& types, const Limits& limits) {
  FoundTable table;
  bool has_none = false;
  const auto open = [&reader](const RequestContext& context, std::size_t shard) {
    return reader.set().open(context, shard);
  };
  const auto first = [&](const RequestContext&) -> Result<std::vector<std::string>> {
    auto records = first_records(reader, ranges);
    has_none = records.empty();
    return records;
  };
  const RowSources sources{.shards = reader.set().size(),
                           .open = open,
                           .types = types,
                           .limits = limits,
                           .selection = choice.selection,
                           .lists = choice.lists,
                           .first_records = first};
  ASSIGN_OR_RETURN(table.schema, RowSchema::find_scalars({}, sources));
  if (table.schema == nullptr) {
    auto found = RowSchema::find({}, sources);
    const bool is_unknown = !found && found.error().code == Code::kUnsupported && (!has_columns || has_none);
    if (!found && !is_unknown) return found.error();
    if (found) table.schema = std::move(*found);
  }
  ASSIGN_OR_RETURN(auto columns, TableColumns::of(table.schema, choice.selection));
  table.columns = std::make_shared<const TableColumns>(std::move(columns));
  return table;
}

}  // namespace recordfs
