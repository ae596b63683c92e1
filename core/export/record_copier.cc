#include "core/export/record_copier.h"

#include <algorithm>
#include <utility>

#include "core/dataset/recent_shards.h"
#include "core/search/wanted_fields.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargestInWindow = 64u << 10;

// Copies records in a random order.
class RandomCopy {
 public:
  RandomCopy(const FormOptions& form, SetReader& reader, TextOutput& output)
      : form_(form),
        output_(output),
        shards_(reader, [&form](SetMember member) { return std::make_shared<const Shard>(std::move(member), form); }) {}

  RandomTarget target() {
    return {.use = {.render = [this](const RequestContext&, const PlacedRecord& place, const Chunk& chunk,
                                     std::uint64_t index) { return render(place, chunk, index); }},
            .take =
                [this](const RandomRecord& record) {
                  output_.write(record.bytes);
                  return output_.good();
                },
            .end_group =
                [this] {
                  output_.flush();
                  return output_.good();
                },
            .condition = form_.condition,
            .types = form_.types,
            .skips_damage = form_.skips_damage};
  }

 private:
  // A shard, and what the text of its records depends on.
  struct Shard {
    Shard(SetMember opened, const FormOptions& form) : member(std::move(opened)), text(member, form) {}
    const SetMember member;
    const RecordText text;
  };

  RenderedRecord render(const PlacedRecord& place, const Chunk& chunk, std::uint64_t index) {
    auto rendered = shards_.at(place)->text.render(
        {place.indexed.chunk, {.begin = index, .end = index + 1}, place.indexed.before.records}, chunk);
    const auto text = std::make_shared<const std::string>(std::move(rendered.text));
    RenderedRecord record{.bytes = {as_bytes(*text), text}, .is_last = rendered.is_over};
    if (!rendered.failures.empty()) record.failure = std::move(rendered.failures.front().why);
    return record;
  }

  const FormOptions& form_;
  TextOutput& output_;
  RecentShards<std::shared_ptr<const Shard>> shards_;
};

}  // namespace

RecordCopier::RecordCopier(const SetMember& member, const FormOptions& options, Reporter& reporter, TextOutput& output)
    : member_(member),
      path_(member.path),
      store_(*member.store),
      options_(options),
      reporter_(reporter),
      output_(output),
      text_(member, options),
      damage_(path_, store_, reporter),
      window_({}, store_.source()),
      searched_fields_(options.condition
                           ? wanted_fields({}, store_, options.types, options.condition->condition().names())
                           : std::nullopt) {}

Result<ChunkReader::Pointer> RecordCopier::decode(const RequestContext& context, ChunkRecords& records,
                                                  std::vector<Error>& failures) const {
  const FieldProjection* const fields = searched_fields_ ? &*searched_fields_ : nullptr;
  ASSIGN_OR_RETURN(auto chunk, store_.chunks().decode_ahead(context, records.info, fields));
  if (!options_.condition) return chunk;
  auto selected = select(records.info, *chunk, records.which);
  records.runs = std::move(selected.runs);
  failures = std::move(selected.failures);
  if (fields == nullptr || records.runs->empty() || !may_lack_fields(records.info, *chunk)) return chunk;
  return store_.chunks().decode_ahead(context, records.info);
}

// Decodes records of a chunk, and perhaps makes their text, on any thread. Returns what writes them.
OrderedResult RecordCopier::copy_ahead(const RequestContext& context, ChunkRecords records) {
  // A chunk that cannot be read but declares no bytes does not end the copy, as in a stream.
  const bool is_empty = records.info.decoded_size == 0u;
  std::vector<Error> failures;
  auto chunk = decode(context, records, failures);
  if (!chunk) {
    return [this, is_empty, info = std::move(records.info), why = std::move(chunk).error()] {
      reporter_.report_skipped(path_, store_, why, info, info.records);
      return (options_.skips_damage || is_empty) && output_.good();
    };
  }
  std::optional<Rendered> ahead;
  if (window_of_selected_ == nullptr && text_.is_made_ahead(**chunk)) {
    ahead = text_.render(records, **chunk);
    records.which = ahead->rest;
    if (ahead->rest.is_empty()) chunk->reset();
  }
  return [this, is_empty, records = std::move(records), chunk = std::move(*chunk), ahead = std::move(ahead),
          failures = std::move(failures)]() mutable {
    if (window_of_selected_ != nullptr) records.runs = window_of_selected_->take(*records.runs);
    if (ahead) output_.write(ahead->text);
    const bool goes_on = (!ahead || settle(*ahead, records.info)) &&
                         (records.which.is_empty() || settle(text_.render(records, *chunk, &output_), records.info)) &&
                         settle(failures, records.info);
    if (window_of_selected_ != nullptr && window_of_selected_->was_full) return false;
    return goes_on || (is_empty && output_.good());
  };
}

// Reports what failed in a run of records, after its text.
bool RecordCopier::settle(const Rendered& rendered, const ChunkInfo& chunk) {
  // Shows the first record without delay.
  if (!std::exchange(has_written_, true)) output_.flush();
  for (const auto& failure : rendered.failures) {
    reporter_.report_skipped(path_, store_, failure.why, chunk, failure.records);
  }
  return !rendered.is_over && output_.good();
}

bool RecordCopier::settle(const std::vector<Error>& failures, const ChunkInfo& chunk) {
  for (const Error& failure : failures) reporter_.report_skipped(path_, store_, failure, chunk, 1);
  return failures.empty() || options_.skips_damage;
}

SelectedRecords RecordCopier::select(const ChunkInfo& info, const Chunk& chunk, OrdinalInterval which) const {
  return select_records(*options_.condition, text_.decoder, member_, info, chunk, which, !options_.skips_damage);
}

RecordRuns SelectedWindow::take(const RecordRuns& runs) {
  RecordRuns taken;
  for (OrdinalInterval run : runs) {
    const std::uint64_t left_out = std::min(skipped, run.end - run.begin);
    skipped -= left_out;
    run.begin += left_out;
    run.end = run.begin + std::min(most, run.end - run.begin);
    most -= run.end - run.begin;
    if (!run.is_empty()) taken.push_back(run);
  }
  was_full = most == 0;
  return taken;
}

std::optional<std::uint64_t> RecordCopier::copy(PassPart part) {
  part.is_light = text_.depends_on_bytes_alone() && !options_.condition;
  const auto copy_chunk = [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
    if (holds_nothing(indexed.chunk)) return {};
    ChunkRecords records{.info = indexed.chunk, .which = part.within(indexed)};
    if (!part.split) records.first_ordinal = indexed.before.records;  // those of splits are not counted
    return copy_ahead(context, std::move(records));
  };
  ProcessBatch copy_records;
  if (part.is_light) {
    copy_records = [&](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
      return [this, batch, &part] {
        const OrdinalInterval which = part.within(*batch);
        text_.write(
            std::span(batch->content.records)
                .subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin)),
            output_);
        has_written_ = true;
        return output_.good();
      };
    };
  }
  return damage_.read(part, {.threads = reporter_.threads(), .bytes_per_record = text_.bytes_per_record()}, copy_chunk,
                      copy_records);
}

bool RecordCopier::copy_one(const RecordRef& record, std::optional<std::uint64_t> first_ordinal) {
  // A window would copy a large chunk once more.
  const bool is_small = record.chunk.stored_size <= kLargestInWindow;
  const auto chunk = store_.chunks().get_alone(is_small ? context() : RequestContext(), record.chunk);
  if (!chunk) {
    reporter_.note(chunk.error());
    return options_.skips_damage;
  }
  ChunkRecords records{
      .info = record.chunk, .which = {.begin = record.index, .end = record.index + 1}, .first_ordinal = first_ordinal};
  SelectedRecords selected;
  if (options_.condition) {
    selected = select(record.chunk, **chunk, records.which);
    records.runs = std::move(selected.runs);
  }
  return settle(text_.render(records, **chunk, &output_), record.chunk) && settle(selected.failures, record.chunk);
}

std::optional<std::uint64_t> RecordCopier::copy_one(const Selection& selection) {
  const std::uint64_t first = selection.from->before.records;
  if (!copy_one(RecordRef{selection.from->chunk, selection.records.begin - first}, first)) return std::nullopt;
  return selection.records.end;
}

void copy_in_random_order(const RandomOptions& options, const FormOptions& form, SetReader& reader, Reporter& reporter,
                          TextOutput& output) {
  RandomCopy copy(form, reader, output);
  read_in_random_order(options, copy.target(), reader, reporter);
}

}  // namespace recordfs
