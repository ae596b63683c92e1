#include "fusefs/commands/cat.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/command_context.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/range_option.h"
#include "fusefs/commands/record_copier.h"
#include "fusefs/commands/selection.h"
#include "fusefs/commands/split.h"

namespace recordfs {
namespace {

struct CatOptions {
  ReadingOptions reading;
  FormOptions form;
  std::string file;
  std::vector<NamedRange> ranges;
  std::optional<Split> split;
};

// Copies a range. Returns false if copying has to stop. A range that cannot be found does not stop it.
bool copy_range(const CatOptions& options, const NamedRange& named, const RecordStore& store, CommandContext& context,
                RecordCopier& copier) {
  const auto not_found = [&](const Error& why) {
    context.print_failure(options.file, why);
    return true;
  };
  if (const auto* address = std::get_if<RecordAddress>(&named.range)) {
    const auto record = find(*address, store);
    return record ? copier.copy(*record, *address) : not_found(record.error());
  }
  const auto& range = std::get<OrdinalRange>(named.range);
  const auto selection = named.is_one ? select_one(range, store) : select(range, store);
  if (!selection) return not_found(selection.error());
  if (!named.is_one) return copier.copy(*selection);
  const IndexedChunk& indexed = *selection->from;
  const std::uint64_t ordinal = selection->records.begin;
  return copier.copy({indexed.chunk, ordinal - indexed.before.records}, ordinal);
}

int cat(const CatOptions& options) {
  CommandContext context(options.reading);
  const auto store = context.open(options.file);
  if (!store) return context.status();
  Output output(STDOUT_FILENO);
  RecordCopier copier(options.file, *store, options.form, context, output);
  if (options.split) {
    copier.copy(*options.split);
  } else if (options.ranges.empty()) {
    copier.copy(everything());
  } else {
    static_cast<void>(std::ranges::all_of(
        options.ranges, [&](const NamedRange& range) { return copy_range(options, range, *store, context, copier); }));
  }
  context.note(output.finish());
  return context.status();
}

void declare_split(CLI::App& app, std::optional<Split>& split) {
  app.add_option_function<std::string>(
         "--split",
         [&split](const std::string& text) {
           split = parse_split(text);
           if (!split) throw CLI::ValidationError("--split", "not BEGIN:END: " + text);
         },
         "write the records of the chunks that begin in this range of bytes, as printed by recordfs splits")
      ->type_name("BEGIN:END")
      ->excludes("RANGE");
}

}  // namespace

std::function<int()> declare_cat(CLI::App& app) {
  const auto options = std::make_shared<CatOptions>();
  app.add_option("FILE", options->file, "a container")->required()->type_name("");
  declare_ranges(app, options->ranges);
  options->form.declare(app);
  declare_split(app, options->split);
  options->reading.declare(app);
  app.footer(
      std::string(kRangeHelp) +
      "\nWithout a RANGE, writes all records; several ranges are written in the order given. Stops at the first\n"
      "record that cannot be read, unless --skip-damage is given. With --split and @OFFSET, lines of --json have\n"
      "\"chunk\" and \"index\" instead of \"ordinal\".");
  return [options] { return cat(*options); };
}

}  // namespace recordfs
