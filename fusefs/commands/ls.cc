#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include <CLI/CLI.hpp>

#include "core/export/record_listing.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"

namespace recordfs {
namespace {

struct LsOptions {
  ReadingOptions reading;
  RecordWords words;
  ListingOptions rows{.is_aligned = ::isatty(STDOUT_FILENO) == 1};
};

// Returns false if listing has to stop. A range that cannot be found does not stop it.
bool list_range(const Range& range, const LsOptions& options, SetReader& reader, CommandContext& context) {
  if (const auto* ordinals = std::get_if<OrdinalRange>(&range)) {
    return reader.each(*ordinals, [&](const SetMember& member, const Selection& selection) {
      return list_records(options.rows, member, selection, context, context.output());
    });
  }
  const auto& address = std::get<RecordAddress>(range);
  if (options.rows.chunks) {
    context.fail(kExitWrongUse, "--chunks takes no @OFFSET/INDEX");
    return false;
  }
  const auto member = reader.member(address.shard);
  if (!member) return true;
  if (const auto record = find({}, address, *member->store)) {
    list_record(options.rows, *member, *record, context, context.output());
  } else {
    context.report_failure(member->path, record.error());
  }
  return true;
}

int ls(const LsOptions& options) {
  CommandContext context(options.reading);
  if (options.rows.condition) {
    context.decode_with(options.rows.types);
    context.require_metadata();
  }
  const auto reader = open_set(options.words, context);
  if (!reader) return context.status();
  if (options.rows.chunks && !options.rows.json) {
    context.output().write(chunk_listing_header(options.rows, !reader->has_one_shard()));
  }
  each_range(options.words, context, [&](const Range& range) { return list_range(range, options, *reader, context); });
  report_condition(options.rows.condition.get(), true, context);
  return context.finish();
}

}  // namespace

RunCommand declare_ls(CLI::App& app) {
  const auto options = std::make_shared<LsOptions>();
  declare_words(
      app, options->words, WordUse::kFilesAndRanges, "which records (default: all)", [options = options.get()] {
        const bool has_address = std::ranges::any_of(
            options->words.ranges, [](const Range& range) { return std::holds_alternative<RecordAddress>(range); });
        if (options->rows.chunks && has_address) throw CLI::ValidationError("--chunks", "takes no @OFFSET/INDEX");
        if (options->rows.chunks && options->rows.condition) throw CLI::ValidationError("--chunks", "excludes --where");
      });
  begin_group(app, "Which records");
  declare_where(app, options->rows.condition);
  declare_types(
      app, options->rows.types, [options = options.get()] { return options->rows.condition != nullptr; }, "--where");
  begin_group(app, "Output");
  app.add_flag("-l", options->rows.with_codec,
               "also print codec and kind of the chunk, and its range of bytes in the file");
  app.add_flag("--chunks", options->rows.chunks, "print one line per chunk, as in index/chunks.tsv of a mount");
  app.add_flag("--json", options->rows.json, "print one JSON object per record or chunk");
  options->reading.declare(app);
  app.footer(std::string(kRangeHelp) +
             "\nPrints ordinal, size in bytes, and chunk/index: the start of the record's chunk, and its index in it. "
             "In a data set of several files that is SHARD:@OFFSET/INDEX. Fields are separated by tabs if the output "
             "is not a terminal. An unreadable record has the size - (exit status 4).");
  return [options] { return ls(*options); };
}

}  // namespace recordfs
