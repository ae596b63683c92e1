#include "core/export/record_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/thrown.h"
#include "core/search/wanted_fields.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kReadBytes = 1u << 20;    // of small records at once
constexpr std::size_t kMostRowBytes = 64u << 20;  // bytes of rows at once; one row may exceed it

// Adds the ends of the rows if `window` has consecutive rows of these records, and returns the rows: each record in its
// frame. Otherwise returns nothing.
Bytes stored_rows(Bytes window, std::span<const Bytes> records, const RecordFrame& frame, RowBytes& rows) {
  const auto begin_in_window = [&](Bytes record) {
    return static_cast<std::size_t>(record.data() - window.data()) - frame.before;
  };
  const auto is_inside = [&](Bytes record) {
    const std::less_equal<> is_before;
    return is_before(window.data() + frame.before, record.data()) &&
           is_before(record.data() + record.size() + frame.after, window.data() + window.size());
  };
  if (records.empty() || !is_inside(records.front()) || !is_inside(records.back())) return {};
  const std::size_t begin = begin_in_window(records.front());
  std::size_t end = begin;
  for (const Bytes record : records) {
    if (!is_inside(record) || begin_in_window(record) != end) return {};
    end += frame.before + record.size() + frame.after;
    rows.ends.push_back(end - begin);
  }
  return window.subspan(begin, end - begin);
}

}  // namespace

Result<std::shared_ptr<const RecordRows>> RecordRows::open(SetMember member, const RowOptions& options) {
  if (options.needs_parts && member.store->schema().parts == RecordSchema::Parts::kNone) {
    return Error{.code = Code::kNotFound,
                 .detail = fmt::format("the records of {} have no parts", member.store->traits().format)};
  }
  std::shared_ptr<RecordRows> rows(new RecordRows(std::move(member), options));
  RowOrigin origin{.path = rows->member_.path, .store = rows->member_.store};
  const RowSchema* const schema = options.schema != nullptr ? options.schema.get() : options.form.schema.get();
  if (schema != nullptr) {
    auto decoder =
        schema->decoder({}, rows->member_.store, rows->member_.path_in_set(), scalar_selector(options.condition));
    // The fields of selected columns are those of one type.
    const bool is_lost = !decoder && decoder.error().code == Code::kDamage;
    const bool needs_type = options.schema != nullptr || !options.form.selection.is_all();
    if (!decoder && (needs_type || is_lost) && !(is_lost && options.skips_damage)) return std::move(decoder).error();
    if (is_lost) rows->lost_type_ = decoder.error();
    if (decoder) origin.decoder = std::make_shared<const RowDecoder>(std::move(*decoder));
  }
  rows->needs_all_ = !rows->find_fields();
  rows->origin_ = std::make_shared<const RowOrigin>(std::move(origin));
  return std::shared_ptr<const RecordRows>(std::move(rows));
}

// Finds the fields that the columns and the condition come from. Returns false if all may be needed.
bool RecordRows::find_fields() {
  const RowSchema* schema = options_.schema.get();
  if (schema == nullptr && !options_.form.selection.is_all()) schema = options_.form.schema.get();
  if (schema == nullptr || !schema->add_wanted_fields(fields_)) return false;
  if (options_.condition == nullptr) return true;
  return add_wanted_fields({}, *member_.store, options_.types, options_.condition->condition().names(), fields_);
}

EncodedRun RecordRows::encode(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk) const {
  EncodedRun run;
  if (lost_type_) {
    run.fail({.why = *lost_type_, .records = records.which.end - records.which.begin}, options_.skips_damage);
    return run;
  }
  // A row may be several times as large as its record.
  if (!has_memory_for([&] { encode_all(context, records, chunk, run); })) {
    run.failures.push_back({.why = {.code = Code::kOutOfMemory, .detail = "no memory for a row"}});
    run.is_over = true;
  }
  return run;
}

Result<RowBytes> RecordRows::encode(const std::shared_ptr<const ScannedBatch>& batch,
                                    const OrdinalInterval& which) const {
  const auto records =
      std::span(batch->content.records)
          .subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin));
  RowBytes rows{.origin = origin_};
  rows.ends.reserve(records.size());
  rows.ordinals.resize(records.size());
  std::iota(rows.ordinals.begin(), rows.ordinals.end(), member_.first_ordinal + batch->before.records + which.begin);
  if (options_.encoder->keeps_records()) {
    std::size_t end = 0;
    for (const Bytes record : records) rows.ends.push_back(end += record.size());
    rows.pieces = records;
    rows.stored.owner = batch;
    return rows;
  }
  const FileWriter* const form = options_.encoder->stored_form();
  if (form != nullptr && form->format == member_.store->traits().format) {
    rows.stored = {.bytes = stored_rows(batch->content.window.bytes, records, *form->frame, rows), .owner = batch};
    if (!rows.stored.bytes.empty()) return rows;
    rows.stored = {};
    rows.ends.clear();
  }
  const ChunkInfo unknown;
  for (std::size_t i = 0; i < records.size(); ++i) {
    TRY(options_.encoder->append(
        {}, {.rows = reader_, .chunk = unknown, .ordinal = rows.ordinals[i], .bytes = records[i]}, rows.bytes));
    rows.ends.push_back(rows.bytes.size());
  }
  return rows;
}

void RecordRows::encode_all(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk,
                            EncodedRun& run) const {
  run.rows.origin = origin_;
  const RunReading reading{
      .store = *member_.store, .chunk = chunk, .bytes = kReadBytes, .skips_damage = options_.skips_damage};
  const auto goes_on = [&run] { return !run.is_over; };
  each_readable(
      reading, records.which, run, goes_on, [&run] { return run.rows.bytes.size() <= kMostRowBytes; },
      [&](OrdinalInterval readable) {
        read_each(context, reading, readable, run, goes_on,
                  [&](std::uint64_t index, Bytes record) { encode_record(context, records, index, record, run); });
      });
}

void RecordRows::encode_record(const RequestContext& context, const ChunkRecords& records, std::uint64_t index,
                               Bytes record, EncodedRun& run) const {
  if (options_.condition != nullptr) {
    auto is_selected = options_.condition->matches(context, reader_.decoder(), records.info, record,
                                                   {.path = member_.path, .path_in_set = member_.path_in_set()});
    if (!is_selected) return run.fail({.why = std::move(is_selected).error()}, options_.skips_damage);
    if (!*is_selected) return;
  }
  const std::uint64_t ordinal = member_.first_ordinal + records.first_ordinal.value_or(0) + index;
  const std::size_t before = run.rows.bytes.size();
  auto appended = options_.refuses_columns ? reader_.check_no_columns(context, records.info, record) : Result<void>();
  if (appended) {
    appended = options_.encoder->append(
        context, {.rows = reader_, .chunk = records.info, .ordinal = ordinal, .bytes = record}, run.rows.bytes);
  }
  if (appended) {
    run.rows.ends.push_back(run.rows.bytes.size());
    run.rows.ordinals.push_back(ordinal);
    return;
  }
  run.rows.bytes.resize(before);
  Error why = std::move(appended).error();
  why.detail = fmt::format("record {}: {}", ordinal, why.detail);
  const bool is_unfit = is_permanent(why.code);
  run.fail({.why = std::move(why), .is_unfit = is_unfit}, options_.skips_damage);
}

}  // namespace recordfs
