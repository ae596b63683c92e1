#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/read_window.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/database_records.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_copier.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct CatOptions {
  ReadingOptions reading;
  FormOptions form;
  std::string file;
  std::vector<Range> ranges;
  std::optional<Split> split;
};

// Copies a range. Returns false if copying has to stop. A range that cannot be found does not stop it.
bool copy_range(const RequestContext& context, const CatOptions& options, const Range& range, const RecordStore& store,
                CommandContext& command, RecordCopier& copier) {
  const auto not_found = [&](const Error& why) {
    command.print_failure(options.file, why);
    return true;
  };
  if (const auto* address = std::get_if<RecordAddress>(&range)) {
    const auto record = find(context, *address, store);
    return record ? copier.copy(context, *record, std::nullopt) : not_found(record.error());
  }
  const auto& ordinals = std::get<OrdinalRange>(range);
  const auto selection = select(ordinals, store);
  if (!selection) return not_found(selection.error());
  if (!ordinals.is_one) return copier.copy(*selection);
  const IndexedChunk& indexed = *selection->from;
  const std::uint64_t first = indexed.before.records;
  return copier.copy(context, {indexed.chunk, selection->records.begin - first}, first);
}

// Writes the keys of a database directory.
int cat_database(const CatOptions& options, CommandContext& context) {
  if (options.form.form != RecordForm::kJson || options.split || !options.ranges.empty()) {
    print_message(
        fmt::format("{}: a database directory, which cat writes with --json only, without a RANGE (try: "
                    "recordfs get)",
                    options.file));
    return kExitWrongUse;
  }
  write_database_as_json(options.file, context);
  return context.finish();
}

int cat(const CatOptions& options) {
  CommandContext context(options.reading);
  if (is_database_directory(options.file)) return cat_database(options, context);
  const auto store = context.open(options.file);
  if (!store) return context.status();
  RecordCopier copier(options.file, *store, options.form, context);
  if (options.split) {
    copier.copy(*options.split);
  } else if (options.ranges.empty()) {
    copier.copy(everything());
  } else {
    ReadWindow window({}, store->source());
    const RequestContext reading = RequestContext().with(window);
    static_cast<void>(std::ranges::all_of(options.ranges, [&](const Range& range) {
      return copy_range(reading, options, range, *store, context, copier);
    }));
  }
  return context.finish();
}

}  // namespace

RunCommand declare_cat(CLI::App& app) {
  const auto options = std::make_shared<CatOptions>();
  declare_file(app, options->file);
  declare_ranges(app, options->ranges);
  options->form.declare(app);
  app.add_option_function<std::string>(
         "--split",
         [options](const std::string& text) {
           options->split = parse_split(text);
           if (!options->split) throw CLI::ValidationError("--split", "not BEGIN:END: " + text);
         },
         "write the records of the chunks that begin in this range of bytes, as printed by recordfs splits")
      ->type_name("BEGIN:END")
      ->excludes("RANGE");
  options->reading.declare(app);
  app.footer(std::string(kRangeHelp) + R"(
Without a RANGE, writes all records; several ranges are written in the order given. Stops at the first
record that cannot be read, unless --skip-damage is given. With --split and @OFFSET, lines of --json have
"chunk" and "index" instead of "ordinal".
If FILE is the directory of a database, --json writes a line for each key, in key order.)");
  return [options] { return cat(*options); };
}

}  // namespace recordfs
