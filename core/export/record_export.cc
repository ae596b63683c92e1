#include "core/export/record_export.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/dataset/damage_reporter.h"
#include "core/dataset/ordered_pass.h"
#include "core/store/open_container.h"

namespace recordfs {

std::optional<std::uint64_t> RecordExport::write(const SetMember& member, const Selection& selection) {
  constexpr std::uint64_t kUsualRow = 64;  // bytes without the record
  const auto rows = RecordRows::open(member, options_);
  if (!rows) return reporter_.report_failure(member.path, rows.error()), std::nullopt;
  reached_ = 0;
  const PassPart part{.store = *member.store, .selection = selection, .is_light = (*rows)->takes_batches()};
  ProcessBatch encode_batch;
  if (part.is_light) {
    encode_batch = [&](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
      return [this, batch, &part, &rows, &member] {
        const auto encoded = (*rows)->encode(batch, part.within(*batch));
        if (!encoded) reporter_.report_failure(member.path, encoded.error());
        reach(batch->content.run.next.position);
        return encoded && take(*encoded);
      };
    };
  }
  DamageReporter damage(member.path, *member.store, reporter_);
  const auto read = damage.read(
      part, {.threads = reporter_.threads(), .bytes_per_record = kUsualRow},
      [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
        if (holds_nothing(indexed.chunk)) return {};
        return encode(context, **rows,
                      {.info = indexed.chunk, .which = part.within(indexed), .first_ordinal = indexed.before.records});
      },
      encode_batch);
  if (read) reach(member.store->source().size());
  return read;
}

void RecordExport::reach(Position position) {
  if (position > reached_) caller_.has_read(position - std::exchange(reached_, position));
}

// Makes the rows of a chunk's records, on any thread. Returns what writes them.
OrderedResult RecordExport::encode(const RequestContext& context, const RecordRows& rows, ChunkRecords records) {
  const SetMember& member = rows.member();
  const bool is_empty = records.info.decoded_size == 0u;
  auto chunk = member.store->chunks().decode_ahead(context, records.info, rows.fields());
  if (!chunk) {
    return [this, &member, is_empty, info = std::move(records.info), why = std::move(chunk).error()] {
      reach(info.end);
      reporter_.report_skipped(member.path, *member.store, why, info, info.records);
      return options_.skips_damage || is_empty;
    };
  }
  auto run = std::make_shared<EncodedRun>(rows.encode(context, records, **chunk));
  if (run->rest.is_empty()) chunk->reset();
  return [this, &rows, records = std::move(records), chunk = std::move(*chunk), run]() mutable {
    while (settle(rows.member(), *run, records.info)) {
      if (run->rest.is_empty()) return reach(records.info.end), true;
      records.which = run->rest;
      *run = rows.encode({}, records, *chunk);
    }
    return false;
  };
}

// Writes rows, and reports what failed.
bool RecordExport::settle(const SetMember& member, const EncodedRun& run, const ChunkInfo& chunk) {
  if (!take(run.rows)) return false;
  for (const RecordsFailure& failure : run.failures) {
    if (failure.is_unfit) {
      reporter_.add_loss(failure.records);
      report_unfit(member.store.get(), member.path, failure.why);
    } else {
      reporter_.report_skipped(member.path, *member.store, failure.why, chunk, failure.records);
    }
  }
  return !run.is_over;
}

void RecordExport::report_unfit(const RecordStore* store, const std::string& path, const Error& why) {
  store != nullptr ? store->log().report({}, why) : reporter_.fail(Impact::kNone, open_failure(path, why));
  has_unfit_ = true;
}

bool RecordExport::take(const RowBytes& rows) {
  if (const auto failure = files_.append(rows)) {
    caller_.fail(*failure);
    return false;
  }
  caller_.has_written(rows.size());
  written_ += rows.size();
  return report_failures() && reporter_.goes_on();
}

bool RecordExport::report_failures() {
  const auto failures = files_.take_failures();
  for (const RowFailure& failure : failures) {
    if (failure.is_part) {
      ++scalars_omitted_;
    } else {
      --written_;
      reporter_.add_loss(1);
    }
    Error why = failure.why;
    why.detail = fmt::format("record {}: {}", failure.ordinal, why.detail);
    const RowOrigin& origin = *failure.origin;
    const auto store = origin.store.lock();
    if (is_permanent(why.code)) {
      report_unfit(store.get(), origin.path, why);
    } else if (store != nullptr) {
      reporter_.report(*store, why);
    } else {
      reporter_.report_failure(origin.path, why);
    }
    if (!options_.skips_damage) return false;
  }
  return true;
}

}  // namespace recordfs
