#include "fusefs/commands/cp.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/command_context.h"
#include "fusefs/commands/found_damage.h"
#include "fusefs/commands/interruption.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/range_option.h"
#include "fusefs/commands/record_files.h"
#include "fusefs/commands/scan.h"
#include "fusefs/commands/selection.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct CpOptions {
  ReadingOptions reading;
  std::string file;
  NamedRange range;
  std::string directory;
  bool replaces = false;
};

// Finds the ordinal of the record at an address, which takes a scan.
Result<Selection> select_at(const RecordAddress& address, const RecordStore& store) {
  TRY(find(address, store));
  Scanner scanner = store.index().scanner(ScanDetail::kCounts);
  while (!scanner.at_end()) {
    TRY(scanner.step());
    const auto& indexed = scanner.chunk();
    if (!indexed || indexed->chunk.begin != address.begin) continue;
    const std::uint64_t ordinal = indexed->before.records + address.index;
    return Selection{.records = {.begin = ordinal, .end = ordinal + 1}, .from = *indexed};
  }
  return Error{.code = Code::kNotFound, .detail = fmt::format("no chunk begins at byte {}", address.begin)};
}

Result<Selection> select(const NamedRange& range, const RecordStore& store) {
  if (const auto* address = std::get_if<RecordAddress>(&range.range)) return select_at(*address, store);
  const auto& ordinals = std::get<OrdinalRange>(range.range);
  return range.is_one ? select_one(ordinals, store) : select(ordinals, store);
}

class Cp {
 public:
  explicit Cp(const CpOptions& options)
      : options_(options), context_(options.reading), progress_("cp", Progress::Unit::kRecords) {}

  int run() {
    const auto store = context_.open(options_.file);
    if (!store) return context_.status();
    auto files = RecordFiles::open(options_.directory, options_.replaces);
    if (!files) {
      print_message(fmt::format("{}: {}", options_.directory, files.error().detail));
      return kExitCannotOpen;
    }
    files_ = std::move(*files);
    const auto selection = select(options_.range, *store);
    if (selection) {
      copy(*store, *selection);
    } else {
      context_.print_failure(options_.file, selection.error());
    }
    progress_.clear();
    Interruption::pass_on();
    return context_.status();
  }

 private:
  // The result of copying a chunk.
  struct Copied {
    std::uint64_t records = 0;
    std::vector<std::pair<std::uint64_t, RecordFiles::Failure>> failures;  // by ordinal
  };

  void copy(const RecordStore& store, const Selection& selection) {
    if (selection.is_empty()) return;
    if (selection.records.end != UINT64_MAX) progress_.set_total(selection.records.end - selection.records.begin);
    FoundDamage damage(options_.file, store, context_);
    const ScanOptions options{
        .from = selection.from, .threads = context_.threads(), .end_record = selection.records.end};
    const auto scanned = scan(store, options, [&](const ScannedStep& step) -> Finish {
      auto copied = step.indexed ? copy_chunk(store, selection, *step.indexed) : Copied{};
      return [this, &store, &selection, &damage, rows = step.damage, copied = std::move(copied)] {
        for (const DamageRow& row : rows) {
          if (selection.lies_inside(row.first_ordinal)) damage.add(row.region);
        }
        return settle(store, copied);
      };
    });
    damage.finish();
    if (!scanned) context_.print_failure(options_.file, scanned.error());
  }

  // Thread-safe.
  Copied copy_chunk(const RecordStore& store, const Selection& selection, const IndexedChunk& indexed) {
    Copied copied;
    const Span wanted = selection.within(indexed);
    if (wanted.begin == wanted.end) return copied;
    const auto chunk = store.chunks().decode_ahead(indexed.chunk);
    if (!chunk) {
      copied.failures.push_back({indexed.before.records, {.is_of_record = true, .why = chunk.error()}});
      return copied;
    }
    for (std::uint64_t i = wanted.begin; i < wanted.end && !is_stopped_ && !Interruption::came(); ++i) {
      const std::uint64_t ordinal = indexed.before.records + i;
      if (auto failure = files_->write(store, **chunk, i, ordinal)) {
        is_stopped_ = is_stopped_ || (!failure->is_of_record && !failure->is_there);
        copied.failures.emplace_back(ordinal, std::move(*failure));
      } else {
        ++copied.records;
        progress_.add(1);
      }
    }
    return copied;
  }

  // Prints failures. Returns false if copying has to stop. Chunks skipped after a write error print nothing.
  bool settle(const RecordStore& store, const Copied& copied) {
    for (const auto& [ordinal, failure] : copied.failures) {
      progress_.clear();
      if (failure.is_of_record) {
        store.log().report(failure.why);
        context_.note(failure.why);
        continue;
      }
      context_.note(kExitPartlyDone);
      print_message(fmt::format("{}/{}: {}{}", options_.directory, RecordFiles::name_of(ordinal), failure.why.detail,
                                failure.is_there ? " (-f replaces it)" : ""));
      if (!failure.is_there) return false;
    }
    return !Interruption::came();
  }

  const CpOptions& options_;
  const Interruption interruption_;
  CommandContext context_;
  Progress progress_;
  std::unique_ptr<RecordFiles> files_;
  std::atomic<bool> is_stopped_{false};
};

constexpr std::string_view kCopyFooter =
    "Files are named by their ordinals, as in records/ of a mount: 000000042. A file gets its name once it is "
    "complete.\n"
    "A record that cannot be read creates no file; all others are copied, and the exit status is 4.\n";

}  // namespace

std::function<int()> declare_cp(CLI::App& app) {
  const auto options = std::make_shared<CpOptions>();
  app.footer(std::string(kCopyFooter) + std::string(kRangeHelp));
  app.add_option("FILE", options->file, "a container")->required()->type_name("");
  app.add_option_function<std::string>(
         "RANGE",
         [options](const std::string& text) {
           const auto range = parse_range(text);
           if (!range) throw CLI::ValidationError("RANGE", "not a range: " + text);
           options->range = {*range, text.find(':') == std::string::npos};
         },
         "which records to copy; : means all")
      ->required()
      ->type_name("");
  app.add_option("DIR", options->directory, "an existing directory")->required()->type_name("");
  app.add_flag("-f,--force", options->replaces,
               "replace existing files\n"
               "Symbolic links are replaced too. Without this option existing files are not changed, and the exit "
               "status is 5.");
  options->reading.declare(app);
  return [options] { return Cp(*options).run(); };
}

}  // namespace recordfs
