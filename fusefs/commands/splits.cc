#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/dataset/splits.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

struct SplitsOptions {
  ReadingOptions reading;
  RecordWords words;
  std::uint64_t size = 64u << 20;
  bool ends_in_null = false;
};

void write_splits(const std::string& path, const SplitsOptions& options, CommandContext& context) {
  const auto store = context.open(path);
  if (!store) return;
  const char end_of_line = options.ends_in_null ? '\0' : '\n';
  Output& output = context.output();
  const auto written = for_each_split({}, *store, {.amount = options.size}, [&](const ContainerSplit& split) {
    output.write(fmt::format("{}\t{}\t{}{}", path, split.begin, split.end, end_of_line));
    return output.good();
  });
  if (!written) context.print_failure(path, written.error());
}

int splits(const SplitsOptions& options) {
  CommandContext context(options.reading);
  const auto list = name_shards(options.words, context);
  if (!list) return context.status();
  for (const Shard& shard : list->shards) {
    if (!shard.is_missing) write_splits(shard.path, options, context);
  }
  return context.finish();
}

}  // namespace

RunCommand declare_splits(CLI::App& app) {
  const auto options = std::make_shared<SplitsOptions>();
  declare_words(app, options->words, WordUse::kFiles);
  app.add_option_function<std::string>(
         "--size",
         [options = options.get()](const std::string& text) {
           const auto size = parse_size(text);
           if (!size || *size == 0) throw CLI::ValidationError("--size", "not a size: " + text);
           options->size = *size;
         },
         "size of each split (default 64M)")
      ->type_name("SIZE");
  app.add_flag("-0,--null", options->ends_in_null, "end lines with a NUL byte, for names that contain a newline");
  options->reading.declare(app);
  app.footer(
      R"(Prints one line per split: path, begin and end, separated by tabs. A split contains the chunks that begin in it;
recordfs cat --split BEGIN:END FILE writes their records, and recordfs cat --split LINE those of a line of the
splits of a data set. The splits of a file cover it without gaps. Splits
smaller than 1M end only at the start of a chunk, so that none is empty, which requires reading the file's
headers. Larger ones are computed without reading the file.)");
  return [options] { return splits(*options); };
}

}  // namespace recordfs
