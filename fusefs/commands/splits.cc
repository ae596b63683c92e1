#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/read_window.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

// Smaller splits end only at chunks, which requires reading headers. Larger ones are computed.
constexpr std::uint64_t kSmallSplit = 1u << 20;

struct SplitsOptions {
  ReadingOptions reading;
  RecordWords words;
  std::uint64_t size = 64u << 20;
  bool ends_in_null = false;
};

// Writes the splits of one file.
class Splitting {
 public:
  Splitting(const std::string& path, const SplitsOptions& options, Output& output)
      : path_(path), size_(options.size), end_of_line_(options.ends_in_null ? '\0' : '\n'), output_(output) {}

  void by_size(std::uint64_t file_size) {
    while (file_size - begin_ > size_ && output_.good()) end_at(begin_ + size_);
    finish(file_size);
  }

  // Writes splits up to a failure. Fails as Scanner::step does.
  Result<void> by_chunks(const RecordStore& store) {
    ReadWindow window({}, store.source());
    const bool is_in_file_order = store.traits().is_in_file_order;
    std::vector<Position> others;
    for (Scanner scanner = store.index().scanner(ScanDetail::kHeaders); !scanner.at_end() && output_.good();) {
      TRY(scanner.step(RequestContext().with(window)));
      if (!scanner.chunk()) continue;
      if (is_in_file_order) {
        may_end_at(scanner.chunk()->chunk.begin);
      } else {
        others.push_back(scanner.chunk()->chunk.begin);
      }
    }
    std::ranges::sort(others);
    for (const Position begin : others) may_end_at(begin);
    return {};
  }

  // Ends the last split at the end of the file.
  void finish(std::uint64_t file_size) {
    if (file_size > begin_) end_at(file_size);
  }

 private:
  // Called for the begin of each chunk.
  void may_end_at(Position at) {
    if (at > begin_ && at - begin_ >= size_) end_at(at);
  }

  void end_at(Position end) {
    output_.write(fmt::format("{}\t{}\t{}{}", path_, begin_, end, end_of_line_));
    begin_ = end;
  }

  const std::string& path_;
  const std::uint64_t size_;
  const char end_of_line_;
  Output& output_;
  Position begin_ = 0;
};

void write_splits(const std::string& path, const SplitsOptions& options, CommandContext& context) {
  const auto store = context.open(path);
  if (!store) return;
  const std::uint64_t file_size = store->source().size();
  Splitting splitting(path, options, context.output());
  if (options.size >= kSmallSplit) return splitting.by_size(file_size);
  const auto scanned = splitting.by_chunks(*store);
  if (!scanned) context.print_failure(path, scanned.error());
  splitting.finish(file_size);
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
