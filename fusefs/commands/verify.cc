#include "fusefs/commands/verify.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/file_list.h"
#include "fusefs/commands/interruption.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/verify_run.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

constexpr std::chrono::seconds kBetweenSaves{60};

struct VerifyOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string names_from;
  std::string state;
  std::optional<std::int64_t> max_age;
  bool recursive = false;
  bool json = false;
  bool verbose = false;
};

// Parses "90" or "30d" into seconds. Returns nullopt if it is invalid.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit(parsed.ptr, text.data() + text.size());
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  constexpr std::int64_t kWeek = 7 * kDay;
  const std::int64_t factor = unit.empty() || unit == "s" ? 1
                              : unit == "m"               ? kMinute
                              : unit == "h"               ? kHour
                              : unit == "d"               ? kDay
                              : unit == "w"               ? kWeek
                                                          : 0;
  if (factor == 0 || number > INT64_MAX / factor) return std::nullopt;
  return number * factor;
}

struct Counts {
  std::uint64_t files = 0, read = 0, passed_earlier = 0, damaged = 0, unreadable = 0, unsupported = 0, unchecked = 0,
                empty = 0, bytes = 0;

  void add(const Outcome& outcome) {
    ++files;
    passed_earlier += outcome.passed ? 1u : 0u;
    const std::string_view state = outcome.state();
    damaged += state == "damaged" ? 1u : 0u;
    unreadable += state == "unreadable" ? 1u : 0u;
    unsupported += state == "unsupported" ? 1u : 0u;
    unchecked += state == kUnchecked ? 1u : 0u;
    empty += state == "empty" ? 1u : 0u;
    if (!outcome.verdict) return;
    ++read;
    bytes += outcome.size.value_or(0);
  }
  std::string text() const {
    return fmt::format(
        "{}: {} read ({}), {} unchanged since they passed; {} damaged, {} unreadable, {} unsupported, {} unchecked, "
        "{} empty",
        counted(files, "file"), read, counted(bytes, "byte"), passed_earlier, damaged, unreadable, unsupported,
        unchecked, empty);
  }
};

class Verify {
 public:
  explicit Verify(const VerifyOptions& options)
      : options_(options),
        context_(options.reading, [](Severity, const std::string&) {}),
        output_(STDOUT_FILENO),
        progress_("verify", Progress::Unit::kBytes) {}

  int run() {
    if (!options_.state.empty() && !read_state()) return kExitWrongUse;
    std::vector<std::string> names = options_.files;
    if (!options_.names_from.empty()) {
      auto listed = read_names(options_.names_from);
      if (!listed) {
        print_message(fmt::format("{}: {}", options_.names_from, listed.error().detail));
        return kExitCannotOpen;
      }
      names = std::move(*listed);
    }
    has_container_.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) list(names, i);
    progress_.set_total(to_read_);
    progress_.add(0);
    verify_all();
    progress_.clear();
    say_directories_without_containers(names);
    context_.note(output_.finish());
    save();
    if (options_.verbose) print_message(counts_.text());
    Interruption::pass_on();
    return context_.status();
  }

 private:
  // Returns false if the file cannot be read or is not a state.
  bool read_state() {
    std::string remark;
    auto state = VerifyState::read(options_.state, remark);
    if (!state) {
      print_message(fmt::format("{}: {}", options_.state, state.error().detail));
      return false;
    }
    if (!remark.empty()) print_message(fmt::format("{}: {}", options_.state, remark));
    state_ = std::move(*state);
    return true;
  }

  void list(const std::vector<std::string>& names, std::size_t name) {
    list_files(
        {names[name]}, options_.recursive,
        [this, name](ListedFile file) {
          if (progress_.is_shown()) to_read_ += state_of(file.path).value_or(FileStamp{}).size;
          items_.push_back({std::move(file), std::nullopt, name});
          return !Interruption::came();
        },
        [this, name](const std::string& path, const Error& error) {
          items_.push_back({{path}, error, name});
          return !Interruption::came();
        });
  }

  // A mistyped path must not look verified.
  void say_directories_without_containers(const std::vector<std::string>& names) {
    if (Interruption::came()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (has_container_[i]) continue;
      print_message(fmt::format("{}: no record container in this directory", names[i]));
      context_.note(kExitPartlyDone);
    }
  }

  void verify_all() {
    const VerifySettings settings{.limits = options_.reading.limits,
                                  .at_once = context_.threads(),
                                  .state = state_.get(),
                                  .max_age = options_.max_age};
    VerifyRun run(items_, settings, context_.services(), progress_, [this](const Outcome& outcome) { tell(outcome); });
    run.run();
  }

  // Called for each of items_, in order.
  void tell(const Outcome& outcome) {
    const std::size_t name = items_[told_++].name;
    if (outcome.is_passed_by) return;
    has_container_[name] = true;
    counts_.add(outcome);
    context_.note(outcome.status());
    const std::string text = options_.json ? outcome_json(outcome) : findings_text(outcome);
    if (!text.empty() || outcome.failure) progress_.clear();
    if (outcome.failure) print_message(open_failure(outcome.path, *outcome.failure));
    if (!text.empty()) {
      output_.write(text);
      output_.flush();
    }
    if (Clock::now() - saved_ >= kBetweenSaves) save();
  }

  void save() {
    saved_ = Clock::now();
    if (!state_) return;
    if (const auto saved = state_->save(); !saved) {
      progress_.clear();
      print_message(fmt::format("{}: {}", options_.state, saved.error().detail));
      context_.note(kExitPartlyDone);
    }
  }

  using Clock = std::chrono::steady_clock;

  const VerifyOptions& options_;
  const Interruption interruption_;
  CommandContext context_;
  Output output_;
  Progress progress_;
  std::unique_ptr<VerifyState> state_;
  std::vector<VerifyItem> items_;
  std::vector<bool> has_container_;  // by name on the command line; also true if opening failed
  std::size_t told_ = 0;             // of items_
  std::uint64_t to_read_ = 0;        // bytes; only if progress is shown
  Counts counts_;
  Clock::time_point saved_ = Clock::now();
};

int verify(const VerifyOptions& options) {
  if (options.files.empty() == options.names_from.empty()) {
    print_message("either FILE or --files0-from is required (try recordfs verify --help)");
    return kExitWrongUse;
  }
  return Verify(options).run();
}

constexpr std::string_view kVerifyFooter =
    "Prints nothing for good files, and otherwise one line per damaged region, \"FILE: bytes BEGIN to END: damage:\n"
    "REASON; N records lost\", or for a chunk that cannot be decoded, \"FILE: byte BEGIN: REASON; N records lost\".\n"
    "An empty file is \"FILE: empty\", with status 0. If there is too little memory, one line says how many chunks "
    "were\n"
    "not checked. Files that cannot be read are reported on standard error. The stale end of a recycled log is not\n"
    "damage, but an unfinished end is.\n"
    "Exit status: 0 success, 1 usage error, 2 a file cannot be opened or is not a container, 4 damage, 5 a codec is\n"
    "missing, a directory has no container (-r), or something could not be read, checked or written. 4 outranks 2,\n"
    "and 2 outranks 5.";

}  // namespace

std::function<int()> declare_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyOptions>();
  app.footer(std::string(kVerifyFooter));
  app.add_option("FILE", options->files, "containers")->type_name("");
  app.add_flag("-r,--recursive", options->recursive,
               "verify all containers below directories, and ignore other files\n"
               "A directory without a container is reported, and the exit status is 5.");
  app.add_option("--files0-from", options->names_from,
                 "read file names from F, with a NUL byte after each; - is standard input")
      ->type_name("F");
  auto* state = app.add_option("--state", options->state,
                               "skip files that have not changed since they passed; F stores which files passed")
                    ->type_name("F");
  app.add_option_function<std::string>(
         "--max-age",
         [options](const std::string& text) {
           options->max_age = seconds_of(text);
           if (!options->max_age) throw CLI::ValidationError("--max-age", "not a time: " + text);
         },
         "with --state: also read files whose last check is older than AGE: 90s, 10m, 12h, 30d, 4w")
      ->type_name("AGE")
      ->needs(state);
  app.add_flag(
      "--json", options->json,
      "print one JSON object per file and line\n"
      "Its `status` is `good`, `empty`, `damaged`, `unreadable`, `unsupported`, or `unchecked` if there was too "
      "little memory.");
  app.add_flag("-v,--verbose", options->verbose, "print at the end how many files were read and how many were skipped");
  options->reading.declare(app);
  return [options] { return verify(*options); };
}

}  // namespace recordfs
