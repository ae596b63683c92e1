#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/dataset/pipe_input.h"
#include "core/output/replace_file.h"
#include "core/remote/session.h"
#include "core/store/index_file.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/remote_traffic.h"

namespace recordfs {
namespace {

struct IndexOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  std::string output;  // an index file; empty: none
  bool verbose = false;
};

// Returns nullopt if no index file is written.
std::optional<Result<ReplacedFile>> index_output(const std::string& path) {
  constexpr mode_t kMode = 0666;
  if (path.empty()) return std::nullopt;
  return ReplacedFile::at(path, kMode);
}

// Waits until any change gives a file that was just written other time stamps. Otherwise nothing would be saved.
void wait_until_settled(const std::string& path) {
  if (const auto file = status_of({}, path)) std::this_thread::sleep_for(file->settles_in);
}

class Index {
 public:
  explicit Index(const IndexOptions& options)
      : options_(options),
        output_(index_output(options.output)),  // before the context confines the process
        context_(options.reading, [this](Severity severity, const std::string& line) {
          if (severity > Severity::kDetail) context_.print_once(line);
        }) {}

  int run() {
    if (context_.status() != 0) return context_.status();
    if (!options_.output.empty() && !options_.output.ends_with(kIndexSuffix)) {
      print_message(fmt::format("{}: the name of an index file ends with {}", options_.output, kIndexSuffix));
      return kExitWrongUse;
    }
    if (output_ && !*output_) {
      print_message(fmt::format("{}: {}", options_.output, output_->error().detail));
      return kExitPartlyDone;
    }
    if (options_.reading.index == "no") {
      print_message("--index no saves no index (try: --index auto)");
      return kExitWrongUse;
    }
    if (!context_.services().index) {
      print_message("no directory for the index: neither XDG_CACHE_HOME nor HOME names one (try: --index=DIR)");
      return kExitPartlyDone;
    }
    context_.services().index->least_scan_time = {};
    // Others may have made these.
    context_.services().index->looks_beside = false;
    context_.services().index->named = nullptr;
    context_.services().reads_whole_files = true;
    build_all(options_.manifest, {});
    for (const std::string& word : options_.files) build_all({}, {word});
    if (output_) write_index_file();
    if (options_.verbose && remote::Session::is_used()) print_message(remote_traffic_text());
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
      context_.report_failure(path, totals ? damage.error() : totals.error());
      return;
    }
    for (const DamageRow& row : **damage) context_.note(row.region);
    const bool sizes_are_known = store->index().state().sizes_known;
    if (output_) add_to_index_file(path, *store);
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

  // Keeps what the index file will have of the scans.
  void add_to_index_file(const std::string& path, const RecordStore& store) {
    ++files_;
    for (const ScanDetail detail : {ScanDetail::kCounts, ScanDetail::kSizes}) {
      const auto snapshot = store.index().snapshot(detail);
      if (!snapshot) continue;
      const auto saved = store.index().saved(detail);
      static_cast<void>(saved->read({}));
      auto part = saved->part_of_file({}, *snapshot);
      if (part) {
        parts_.push_back(std::move(*part));
      } else {
        context_.fail(kExitPartlyDone, fmt::format("{}: the index is not written: {}", path, part.error().detail));
        return;
      }
    }
  }

  void write_index_file() {
    if (files_ > 1) {
      return context_.fail(kExitWrongUse, fmt::format("{}: an index file is of one file", options_.output));
    }
    if (parts_.empty()) return;
    const auto written = (*output_)->write(pack_index_file(parts_));
    if (!written) {
      context_.fail(kExitPartlyDone, fmt::format("{}: {}", options_.output, written.error().detail));
    } else if (options_.verbose) {
      context_.output().write(fmt::format("{}\n", printable(options_.output)));
    }
  }

  const IndexOptions& options_;
  const std::optional<Result<ReplacedFile>> output_;
  CommandContext context_;
  std::vector<std::string> parts_;  // of the index file
  int files_ = 0;                   // that were scanned for it
};

}  // namespace

RunCommand declare_index(CLI::App& app) {
  const auto options = std::make_shared<IndexOptions>();
  app.footer(
      "Later mounts with the same --max-chunk and --index (-o max_chunk=, -o index=) do not scan or wait. This command "
      "does not check records; recordfs verify does.\n"
      "Exit status: 4 if headers are damaged, and the index is saved nevertheless; 5 if it is not saved.");
  declare_sets(app, options->files, options->manifest, false);
  declare_value(
      app, "-o,--output", "INDEX", options->output,
      "also write the index of one file to INDEX.rfsindex\n"
      "If it is stored as `URL.rfsindex` beside a remote file, all users of the file find it there and need no "
      "scan. `--index FILE.rfsindex` names one that is elsewhere, also of a local file. An index is used only "
      "for a file with the size, the version (the ETag of a server), and the ends that it names, by the same "
      "version of recordfs. Every record is still checked. A forged index can still skip records or shift their "
      "numbers, so protect it as well as the file.");
  app.add_flag("-v,--verbose", options->verbose,
               "print the path of each index, and of remote files requests and bytes");
  options->reading.declare(app);
  return [options] { return Index(*options).run(); };
}

}  // namespace recordfs
