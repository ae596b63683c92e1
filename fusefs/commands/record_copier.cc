#include "fusefs/commands/record_copier.h"

#include <algorithm>
#include <utility>

namespace recordfs {
namespace {

// Returns whether streams skip a chunk, readable or not, because it has no bytes and no records.
bool holds_nothing(const ChunkInfo& chunk) { return chunk.records == 0u && chunk.decoded_size == 0u; }

NameOf ordinals_from(std::uint64_t first) {
  return [first](std::uint64_t index) { return RecordName(first + index); };
}

NameOf addresses_in(Position chunk) {
  return [chunk](std::uint64_t index) { return RecordName(RecordAddress{chunk, index}); };
}

}  // namespace

RecordCopier::RecordCopier(const std::string& path, const RecordStore& store, const FormOptions& options,
                           CommandContext& context, Output& output)
    : path_(path),
      store_(store),
      options_(options),
      context_(context),
      output_(output),
      text_(store, options),
      damage_(path, store, context) {}

// For a chunk whose ordinals were not counted.
RecordCopier::Share RecordCopier::share_of_all(const IndexedChunk& indexed) {
  return {.which = {.begin = 0, .end = indexed.chunk.records.value_or(0)}, .name = addresses_in(indexed.chunk.begin)};
}

RecordCopier::Made RecordCopier::make(const IndexedChunk& indexed, Share share) const {
  Made made{.info = indexed.chunk,
            .share = std::move(share),
            .chunk = store_.chunks().decode_ahead(indexed.chunk),
            .has_bytes = indexed.chunk.decoded_size != 0u};
  if (!made.chunk || !text_.is_made_ahead(**made.chunk)) return made;
  made.rendered = text_.render(made.info, **made.chunk, made.share.which, made.share.name);
  made.is_made = true;
  const Span& rest = made.rendered.rest;
  if (rest.begin == rest.end) made.chunk = std::shared_ptr<const Chunk>();
  return made;
}

// A chunk that cannot be read but declares no bytes does not end the copy, as in a stream.
bool RecordCopier::write(const Made& made) { return write_all(made) || (!made.has_bytes && output_.good()); }

bool RecordCopier::write_all(const Made& made) {
  if (!made.chunk) return give_up_on(made.chunk.error());
  if (!made.is_made) return write_through(made, made.share.which);
  output_.write(made.rendered.text);
  return settle(made.rendered) && write_through(made, made.rendered.rest);
}

bool RecordCopier::write_through(const Made& made, Span which) {
  if (which.begin == which.end) return true;
  return settle(text_.write(made.info, **made.chunk, which, made.share.name, output_));
}

// Prints what failed in a run of records, after its text.
bool RecordCopier::settle(const Rendered& rendered) {
  // Shows the first record without delay.
  if (!std::exchange(has_written_, true)) output_.flush();
  for (const Error& failure : rendered.failures) {
    store_.log().report(failure);
    context_.note(failure);
  }
  return !rendered.is_over && output_.good();
}

bool RecordCopier::give_up_on(const Error& why) {
  store_.log().report(why);
  context_.note(why);
  return options_.skips_damage && output_.good();
}

bool RecordCopier::scan_and_copy(const ScanOptions& options, const Choice& choice) {
  bool goes_on = true;
  const auto scanned = scan(store_, options, [&](const ScannedStep& step) -> Finish {
    std::vector<DamagedRegion> damage;
    for (const DamageRow& row : step.damage) {
      if (choice.takes(row)) damage.push_back(row.region);
    }
    std::optional<Share> share;
    if (step.indexed && !holds_nothing(step.indexed->chunk)) share = choice.share_of(*step.indexed);
    std::optional<Made> made;
    if (share) made = make(*step.indexed, std::move(*share));
    return [this, &goes_on, damage = std::move(damage), made = std::move(made)] {
      for (const DamagedRegion& region : damage) damage_.add(region);
      goes_on = !made || write(*made);
      return goes_on;
    };
  });
  damage_.finish();
  if (!scanned) context_.print_failure(path_, scanned.error());
  return goes_on && scanned;
}

bool RecordCopier::copy(const Selection& selection) {
  if (selection.is_empty()) return true;
  ScanOptions options;
  options.from = selection.from;
  options.threads = context_.threads();
  options.end_record = selection.records.end;
  return scan_and_copy(options,
                       {.takes = [&](const DamageRow& row) { return selection.lies_inside(row.first_ordinal); },
                        .share_of = [&](const IndexedChunk& indexed) -> std::optional<Share> {
                          const Span which = selection.within(indexed);
                          if (which.begin == which.end && !selection.lies_inside(indexed.before.records))
                            return std::nullopt;
                          return Share{.which = which, .name = ordinals_from(indexed.before.records)};
                        }});
}

bool RecordCopier::copy(const Split& split) {
  if (!store_.traits().is_in_file_order) return copy_in_file_order(split);
  auto start = start_of(split, store_);
  if (!start) {
    context_.print_failure(path_, start.error());
    return false;
  }
  ScanOptions options;
  options.from = std::move(*start);
  options.threads = context_.threads();
  options.end_position = split.end;
  return scan_and_copy(options, {.takes = [&](const DamageRow& row) { return split.owns(row.region.begin); },
                                 .share_of = [&](const IndexedChunk& indexed) -> std::optional<Share> {
                                   if (!split.owns(indexed.chunk.begin)) return std::nullopt;
                                   return share_of_all(indexed);
                                 }});
}

bool RecordCopier::copy_in_file_order(const Split& split) {
  const auto content = content_of(split, store_);
  if (!content) {
    context_.print_failure(path_, content.error());
    return false;
  }
  for (const DamagedRegion& region : content->damage) damage_.add(region);
  damage_.finish();
  return std::ranges::all_of(content->chunks, [this](const IndexedChunk& indexed) {
    return holds_nothing(indexed.chunk) || write(make(indexed, share_of_all(indexed)));
  });
}

bool RecordCopier::copy(const RecordRef& record, const RecordName& name) {
  const auto chunk = store_.chunks().get(record.chunk);
  if (!chunk) {
    context_.note(chunk.error());
    return options_.skips_damage;
  }
  const Span which{.begin = record.index, .end = record.index + 1};
  return settle(text_.write(
      record.chunk, **chunk, which, [&name](std::uint64_t) { return name; }, output_));
}

}  // namespace recordfs
