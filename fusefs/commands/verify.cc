#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/amounts.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"
#include "core/database/uncertain_keys.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/listed_files.h"
#include "core/dataset/source_spec.h"
#include "core/formats/foreign_file.h"
#include "core/output/replace_file.h"
#include "core/remote/session.h"
#include "core/verify/checked_databases.h"
#include "core/verify/file_verifier.h"
#include "core/verify/verification.h"
#include "core/verify/verify_state.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/input_lines.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"
#include "fusefs/remote_traffic.h"

namespace recordfs {
namespace {

constexpr std::chrono::seconds kBetweenSaves{60};

struct VerifyOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string names_from;
  std::string manifest;
  std::string state;
  std::optional<std::int64_t> max_age;
  bool recursive = false;
  bool json = false;
  bool verbose = false;
};

// Returns nullopt if there is no state, or a path that read_state() refuses.
std::optional<Result<ReplacedFile>> state_file(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  std::error_code failed;
  const bool is_other = std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed);
  if (path.empty() || is_other) return std::nullopt;
  return ReplacedFile::at(path, kOwnerOnly);
}

bool goes_on() { return !Interruption::came(); }

class Verify {
 public:
  explicit Verify(const VerifyOptions& options)
      : options_(options),
        state_file_(state_file(options.state)),
        context_(options.reading, [](Severity, const std::string&) {}),
        progress_("verify", Progress::Unit::kBytes) {}

  int run() {
    if (!options_.state.empty() && !read_state()) return kExitWrongUse;
    std::vector<std::string> names = options_.files;
    if (!options_.names_from.empty()) {
      auto listed = read_lines(options_.names_from, '\0');
      if (!listed) {
        print_message(fmt::format("{}: {}", options_.names_from, listed.error().detail));
        return kExitCannotOpen;
      }
      names = std::move(*listed);
    }
    if (!options_.manifest.empty()) add_shards(options_.manifest, {}, names);
    has_container_.resize(names.size());
    if (names.size() == 1 && !state_) expect_pass(names.front());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i % kAskedTogether == 0) ask_together(std::span(names).subspan(i));
      list(names, i);
    }
    progress_.set_total(to_read_);
    progress_.add(0);
    verify_all();
    databases_.each_left([this](const Outcome& outcome) { print(outcome); }, goes_on);
    progress_.finish();
    print_directories_without_containers(names);
    static_cast<void>(context_.finish());
    save();
    if (options_.verbose) print_message(counts_.text());
    if (options_.verbose && remote::Session::is_used()) print_message(remote_traffic_text());
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
    const auto kind = options_.recursive ? SourceSpec::Kind::kContainer : SourceSpec{.words = {names[name]}}.kind();
    if (kind == SourceSpec::Kind::kDatabase) {
      const std::string directory = without_final_slash(names[name]);
      for (std::string& path : check(directory)) add({.path = std::move(path), .was_found = true}, name);
      has_container_[name] = true;
      return;
    }
    std::vector<std::string> paths{names[name]};
    if (kind != SourceSpec::Kind::kContainer && name < options_.files.size()) {
      paths.clear();
      has_container_[name] = true;  // or a message tells why not
      add_shards({}, {names[name]}, paths);
    }
    each_file(paths, options_.recursive, [this, name](ListedFile file) {
      const std::string directory = std::filesystem::path(file.path).parent_path().string();
      const bool is_new = file.was_found && directories_.insert(directory).second;
      if (is_new && database::is_database(directory).value_or(false)) check(directory);
      add(std::move(file), name);
      return !Interruption::came();
    });
  }

  // Adds the paths of the shards, and prints those that are missing or surplus.
  void add_shards(const std::string& manifest, const std::vector<std::string>& words, std::vector<std::string>& paths) {
    for (NamedFile& file : named_files(manifest, words, context_)) {
      if (!file.missing && !file.is_surplus) {
        paths.push_back(std::move(file.path));
      } else if (options_.json) {
        context_.output().write(unread_json(file.path, file.missing ? &*file.missing : nullptr));
      }
    }
  }

  void add(ListedFile file, std::size_t name) {
    if (progress_.is_shown() && !file.failure) to_read_ += size_of(file.path);
    files_.push_back(std::move(file));
    names_.push_back(name);
  }

  static std::string without_final_slash(const std::string& directory) {
    const std::filesystem::path path(directory);
    return path.has_filename() || path == path.root_path() ? directory : path.parent_path().string();
  }

  // Checks a database as a whole. Returns the paths of its files; none if it cannot be opened, which is reported.
  std::vector<std::string> check(const std::string& directory) {
    auto files = databases_.check(directory);
    if (files) return *std::move(files);
    context_.fail(impact_of_opening(files.error()), open_failure(directory, files.error()));
    return {};
  }

  // A mistyped path must not look verified.
  void print_directories_without_containers(const std::vector<std::string>& names) {
    if (Interruption::came()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (has_container_[i]) continue;
      const auto backup = recognize_backup(names[i]);
      context_.fail(kExitPartlyDone,
                    fmt::format("{}: {}", names[i], backup.value_or("no record container in this directory")));
    }
  }

  void verify_all() {
    const FileVerifier::Options options{.threads = context_.threads(), .max_age = options_.max_age};
    FileVerifier verifier(options,
                          {.open = [this](const RequestContext& context,
                                          const std::string& path) { return context_.open_quietly(context, path); },
                           .goes_on = goes_on,
                           .has_read = [this](std::uint64_t bytes) { progress_.add(bytes); }},
                          databases_, state_.get());
    verifier.verify_all(files_, [this](std::size_t number, Outcome& outcome) {
      if (!outcome.is_ignored) report(outcome, names_[number]);
      if (outcome.is_removed) databases_.forget(outcome.path);
    });
  }

  // `name`: the number of the file's argument on the command line.
  void report(Outcome& outcome, std::size_t name) {
    has_container_[name] = true;
    databases_.complete(outcome);
    counts_.add(outcome);
    print(outcome);
    if (Clock::now() - saved_ >= kBetweenSaves) save();
  }

  void print(const Outcome& outcome) {
    context_.note(outcome.impact());
    const std::string text = options_.json ? outcome_json(outcome) : findings_text(outcome);
    if (outcome.failure) print_message(open_failure(outcome.path, *outcome.failure));
    if (!text.empty()) {
      context_.output().write(text);
      context_.output().flush();
    }
  }

  void save() {
    saved_ = Clock::now();
    if (!state_ || !state_file_) return;
    const Result<ReplacedFile>& file = *state_file_;
    if (const auto saved =
            file ? state_->save([&](std::string_view content) { return file->write(content); }) : file.error();
        !saved) {
      context_.fail(kExitPartlyDone, fmt::format("{}: {}", options_.state, saved.error().detail));
    }
  }

  using Clock = std::chrono::steady_clock;

  const VerifyOptions& options_;
  const Interruption interruption_;
  const std::optional<Result<ReplacedFile>> state_file_;  // made before the context confines the process
  CommandContext context_;
  Progress progress_;
  std::unique_ptr<VerifyState> state_;
  std::vector<ListedFile> files_;
  std::vector<std::size_t> names_;     // of each file, the number of its argument on the command line
  std::vector<bool> has_container_;    // by name on the command line; also true if opening failed
  std::set<std::string> directories_;  // below which files were found
  CheckedDatabases databases_{context_.database_options(), context_.threads()};
  std::uint64_t to_read_ = 0;  // bytes; only if progress is shown
  OutcomeCounts counts_;
  Clock::time_point saved_ = Clock::now();
};

int verify(const VerifyOptions& options) {
  if ((options.files.empty() && options.manifest.empty()) == options.names_from.empty()) {
    print_message("either FILE or --files0-from is required (try recordfs verify --help)");
    return kExitWrongUse;
  }
  return Verify(options).run();
}

}  // namespace

RunCommand declare_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyOptions>();
  app.footer(
      "Prints nothing for good files, and otherwise one line per damaged region, \"FILE: bytes BEGIN to END: damage: "
      "REASON; N records lost\", or for a chunk that cannot be decoded, \"FILE: byte BEGIN: REASON; N records lost\". "
      "The number is a lower bound, \"at least N\", if the file ends too early. An empty file is \"FILE: empty\", with "
      "status 0; a database may have empty logs. If there is too little memory, one line says how many chunks were not "
      "checked. Files that cannot be read are reported on standard error. The stale end of a recycled log is not "
      "damage, "
      "but an unfinished end is.\n"
      "For the directory of a database, reads its MANIFESTs, logs, tables and blobs, and prints a line for each file "
      "that "
      "is missing, surplus (status 0, also if it is damaged), no table, or of another size or checksum than in the "
      "MANIFEST. A file whose records have no checksums is \"unchecked\" (status 5), unless a MANIFEST has one of it.\n"
      "Exit status: 0 success, 1 usage error, 2 a file cannot be opened or is not a container, 4 damage, 5 a codec is "
      "missing, a directory has no container (-r), or something could not be read, checked or written, 75 a database "
      "is "
      "in use and changes too fast: try again. 75 outranks 4, 4 outranks 2, and 2 outranks 5.");
  app.add_option("FILE", options->files, "containers, databases, or what names data sets")->type_name("");
  app.add_flag("-r,--recursive", options->recursive,
               "verify all containers below directories, and ignore other files\n"
               "A directory without a container is reported, and the exit status is 5.");
  declare_value(app, "--files0-from", "F", options->names_from,
                "read file names from F, with a NUL byte after each; - is standard input");
  begin_group(app, "Data sets");
  declare_manifest(app, options->manifest);
  begin_group(app, "Options");
  auto* state = declare_value(app, "--state", "F", options->state,
                              "skip files that have not changed since they passed; F stores their names\n"
                              "It also stores sizes and time stamps, by which a change is found.");
  declare_value(
      app, "--max-age", "AGE",
      [options](const std::string& text) {
        options->max_age = seconds_of(text);
        if (!options->max_age) throw CLI::ValidationError("--max-age", "not a time: " + text);
      },
      "with --state: also read files that passed longer ago: 90s, 10m, 12h, 30d, 4w")
      ->needs(state);
  app.add_flag(
      "--json", options->json,
      "print one JSON object per file and line\n"
      "Its `status` is `good`, `empty`, `damaged`, `unreadable`, `unsupported`, `unchecked` if there was too little "
      "memory or if there are no checksums, `surplus`, or `missing`: a shard, or a range of `shards`. If "
      "`records_lost` is null, "
      "`records_lost_at_least` may be a lower bound.");
  app.add_flag("-v,--verbose", options->verbose,
               "print at the end how many files were read and how many were skipped\n"
               "Of remote files, also the number of requests and bytes.");
  begin_group(app, "Databases");
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.final_callback([options = options.get()] { name_locations(options->files, options->manifest); });
  return [options] { return verify(*options); };
}

}  // namespace recordfs
