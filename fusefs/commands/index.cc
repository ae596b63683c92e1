#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/commands/standard_input.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct IndexOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  bool verbose = false;
};

// Waits until any change gives a file that was just written other time stamps. Otherwise nothing would be saved.
void wait_until_settled(const std::string& path) {
  if (const auto file = status_of({}, path)) std::this_thread::sleep_for(file->settles_in);
}

class Index {
 public:
  explicit Index(const IndexOptions& options)
      : options_(options), context_(options.reading, [this](Severity severity, const std::string& line) {
          if (severity > Severity::kDetail) context_.print_once(line);
        }) {}

  int run() {
    if (context_.status() != 0) return context_.status();
    if (options_.reading.index == "no") {
      print_message("--index no saves no index (try: --index auto)");
      return kExitWrongUse;
    }
    if (!context_.services().index) {
      print_message("no directory for the index: neither XDG_CACHE_HOME nor HOME names one (try: --index=DIR)");
      return kExitPartlyDone;
    }
    context_.services().index->least_scan_time = {};
    context_.services().reads_whole_files = true;
    build_all(options_.manifest, {});
    for (const std::string& word : options_.files) build_all({}, {word});
    return context_.finish();
  }

 private:
  void build_all(const std::string& manifest, const std::vector<std::string>& words) {
    for (const NamedFile& file : named_files(manifest, words, context_)) {
      if (file.missing || file.is_surplus) continue;
      wait_until_settled(file.path);
      build(file.path);
    }
  }

  void build(const std::string& path) {
    if (is_pipe(path)) {
      return context_.fail(kExitPartlyDone, fmt::format("{}: an index of standard input or a pipe is not saved", path));
    }
    auto store = context_.open(path);
    if (!store) return;
    const auto totals = wait_for([&] { return store->index().totals(ScanDetail::kSizes); });
    const auto damage = wait_for([&] { return store->index().damage(); });
    if (!totals || !damage) {
      context_.print_failure(path, totals ? damage.error() : totals.error());
      return;
    }
    for (const DamageRow& row : **damage) context_.note(row.region);
    const bool sizes_are_known = store->index().state().sizes_known;
    store.reset();  // saves the index
    const auto again = context_.open(path);
    if (!again) return;
    check(path, *again, ScanDetail::kCounts);
    if (!sizes_are_known) check(path, *again, ScanDetail::kSizes);
  }

  // Checks whether a mount would find everything in the index.
  void check(const std::string& path, const RecordStore& store, ScanDetail detail) {
    const auto saved = store.index().saved(detail);
    const auto found = saved->read({});
    if (!found || found->has_grown) {
      context_.fail(kExitPartlyDone, fmt::format("{}: the index is not saved", path));
    } else if (options_.verbose) {
      context_.output().write(fmt::format("{}: {}\n", printable(path), printable(saved->path())));
    }
  }

  const IndexOptions& options_;
  CommandContext context_;
};

}  // namespace

RunCommand declare_index(CLI::App& app) {
  const auto options = std::make_shared<IndexOptions>();
  app.footer(
      "Later mounts with the same --max-chunk and --index (-o max_chunk=, -o index=) do not scan or wait. This command "
      "does not check records; recordfs verify does.\n"
      "Exit status: 4 if headers are damaged, and the index is saved nevertheless; 5 if it is not saved.");
  declare_sets(app, options->files, options->manifest, false);
  app.add_flag("-v,--verbose", options->verbose, "print the path of each index");
  options->reading.declare(app);
  return [options] { return Index(*options).run(); };
}

}  // namespace recordfs
