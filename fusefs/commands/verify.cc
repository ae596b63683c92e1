#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/hash/highway.h"
#include "core/store/executor.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/verification.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

// When a file passed, in seconds since 1970.
struct Passed {
  FileIdentity file;
  std::int64_t when = 0;
  bool is_container = true;  // false: no format recognizes it
};

// Two header lines: the type of the file, then the version of the checks and a hash of the rest. For each file follow
// its numbers, a tab, its name, and a zero byte.
constexpr std::string_view kFirstLine = "recordfs verify state 1\n";
constexpr std::string_view kCorrupt = "ignoring a corrupt state: reading all files";
constexpr std::string_view kOtherChecks = "ignoring the state of another version: reading all files";

std::string absolute(const std::string& path) {
  std::error_code failure;
  const auto from_root = std::filesystem::absolute(path, failure);
  return failure ? path : from_root.lexically_normal().string();
}

std::string head(std::string_view rows) {
  return fmt::format("{}{} {:016x}\n", kFirstLine, kVersionOfChecks, highway_hash(as_bytes(rows)));
}

// Returns all rows, or none and why in `remark`.
std::map<std::string, Passed> decode(const std::string& text, std::string& remark) {
  std::istringstream input(text);
  std::string hash;
  unsigned version = 0;
  remark = kCorrupt;
  input.ignore(static_cast<std::streamsize>(kFirstLine.size()));
  if (!(input >> version)) return {};
  if (version != kVersionOfChecks) remark = kOtherChecks;
  if (version != kVersionOfChecks || !std::getline(input >> std::ws, hash) || input.eof()) return {};
  const auto rows = std::string_view(text).substr(static_cast<std::size_t>(input.tellg()));
  if (hash != fmt::format("{:016x}", highway_hash(as_bytes(rows)))) return {};
  std::map<std::string, Passed> all;
  std::string name;
  Passed passed;
  FileIdentity& file = passed.file;
  while (input >> file.device >> file.inode >> file.size >> file.mtime_seconds >> file.mtime_nanoseconds >>
         passed.when >> passed.is_container) {
    if (input.get() != '\t' || !std::getline(input, name, '\0')) return {};
    all.insert_or_assign(name, passed);
  }
  if (!input.eof()) return {};
  remark.clear();
  return all;
}

Error failed(std::string_view action) {
  Error error = system_error(errno);
  error.detail = fmt::format("{}: {}", action, error.detail);
  return error;
}

Result<void> write_durably(int file, std::string_view bytes) {
  errno = write_all(file, as_bytes(bytes));
  if (errno != 0 || (::fsync(file) != 0 && errno != EINVAL)) return failed("cannot write");
  return {};
}

// Returns the identity of the file at `path`, or nullopt if there is none.
std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return FileIdentity::of(st);
}

// Stores absolute paths, so it does not depend on the current directory. Thread-safe.
class VerifyState {
 public:
  // Reads the state of an earlier run. A missing or empty file is an empty state. So is a broken one, or one of other
  // checks, and `remark` then says so. Fails with kNoContainer for any other file, which must not be overwritten, and
  // with kIo.
  static Result<std::unique_ptr<VerifyState>> read(const std::string& path, std::string& remark) {
    auto state = std::unique_ptr<VerifyState>(new VerifyState(absolute(path)));
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) {
      if (errno == ENOENT) return state;
      return failed("cannot open");
    }
    const Error foreign{.code = Code::kNoContainer, .detail = "not a state file of recordfs verify"};
    if (!S_ISREG(st.st_mode)) return foreign;
    std::ifstream file(path, std::ios::binary);
    if (!file) return failed("cannot open");
    std::string first(kFirstLine.size(), '\0');
    file.read(first.data(), static_cast<std::streamsize>(first.size()));
    first.resize(static_cast<std::size_t>(file.gcount()));
    if (!kFirstLine.starts_with(first)) return foreign;
    std::ostringstream rest;
    if (file) rest << file.rdbuf();
    if (first.empty()) return state;
    if (first.size() < kFirstLine.size()) {
      remark = kCorrupt;
    } else {
      state->passed_ = decode(first + rest.str(), remark);
    }
    return state;
  }

  // Returns how a file passed, or nullopt if it has changed or never passed.
  std::optional<Passed> find(const std::string& path, const FileIdentity& now) const {
    const std::string name = absolute(path);
    const std::lock_guard lock(mutex_);
    const auto found = passed_.find(name);
    if (found == passed_.end() || found->second.file != now) return std::nullopt;
    return found->second;
  }
  void set(const std::string& path, const Passed& passed) {
    std::string name = absolute(path);
    const std::lock_guard lock(mutex_);
    passed_.insert_or_assign(std::move(name), passed);
  }
  void remove(const std::string& path) {
    const std::string name = absolute(path);
    const std::lock_guard lock(mutex_);
    passed_.erase(name);
  }

  // Replaces the file with the current state, without files that no longer exist. Fails with kIo.
  Result<void> save() {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(passed_, [](const auto& one) {
        struct stat st {};
        return ::lstat(one.first.c_str(), &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
      });
    }
    std::string unfinished = path_ + ".XXXXXX";
    const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);
    if (file < 0) return failed("cannot save");
    auto written = write_durably(file, encode());
    ::close(file);
    if (written && ::rename(unfinished.c_str(), path_.c_str()) != 0) written = failed("cannot save");
    if (!written) ::unlink(unfinished.c_str());
    return written;
  }

 private:
  explicit VerifyState(std::string path) : path_(std::move(path)) {}
  std::string encode() const {
    std::string rows;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, passed] : passed_) {
      const FileIdentity& file = passed.file;
      rows += fmt::format("{} {} {} {} {} {} {}\t{}", file.device, file.inode, file.size, file.mtime_seconds,
                          file.mtime_nanoseconds, passed.when, passed.is_container ? 1 : 0, name);
      rows += '\0';
    }
    return head(rows) + rows;
  }

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, Passed> passed_;  // by absolute path
};

constexpr std::chrono::seconds kBetweenSaves{60};
constexpr std::uint64_t kLargeFile = 4u << 20;
constexpr std::uint64_t kMemory = 64u << 20;  // bytes of decoded chunks, of all files
constexpr std::size_t kMostAhead = 4096;      // files that wait for a thread, or for an earlier file

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
  const std::int64_t factor = unit.empty() || unit == "s" ? 1
                              : unit == "m"               ? 60
                              : unit == "h"               ? 3600
                              : unit == "d"               ? 86400
                              : unit == "w"               ? 7 * 86400
                                                          : 0;
  if (factor == 0 || number > INT64_MAX / factor) return std::nullopt;
  return number * factor;
}

struct Counts {
  std::uint64_t read = 0, passed_earlier = 0, bytes = 0;
  std::map<std::string_view, std::uint64_t> files{};  // by Outcome::state()

  void add(const Outcome& outcome) {
    ++files[outcome.state()];
    passed_earlier += outcome.passed ? 1u : 0u;
    if (!outcome.verdict) return;
    ++read;
    bytes += outcome.size.value_or(0);
  }
  std::string text() {
    std::uint64_t all = 0;
    for (const auto& [state, count] : files) all += count;
    return fmt::format(
        "{}: {} read ({}), {} unchanged since they passed; {} damaged, {} unreadable, {} unsupported, {} unchecked, "
        "{} empty",
        counted(all, "file"), read, counted(bytes, "byte"), passed_earlier, files["damaged"], files["unreadable"],
        files["unsupported"], files[kUnchecked], files["empty"]);
  }
};

std::int64_t now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_damage(const Error& error) { return error.code == Code::kDamage || error.code == Code::kUnfinished; }

struct VerifyItem {
  ListedFile file;
  std::size_t name = 0;  // index of its argument on the command line
};

class Verify {
 public:
  explicit Verify(const VerifyOptions& options)
      : options_(options),
        context_(options.reading, [](Severity, const std::string&) {}),
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
    print_directories_without_containers(names);
    static_cast<void>(context_.finish());
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
    list_files({names[name]}, options_.recursive, [this, name](ListedFile file) {
      if (progress_.is_shown() && !file.failure) to_read_ += identity_of(file.path).value_or(FileIdentity{}).size;
      items_.push_back({std::move(file), name});
      return !Interruption::came();
    });
  }

  // A mistyped path must not look verified.
  void print_directories_without_containers(const std::vector<std::string>& names) {
    if (Interruption::came()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (has_container_[i]) continue;
      print_message(fmt::format("{}: no record container in this directory", names[i]));
      context_.note(kExitPartlyDone);
    }
  }

  // Verifies several small files at a time, each on one thread. Meanwhile verifies large files, one at a time, each on
  // all threads. Stops early after a signal.
  void verify_all() {
    const auto at_once = static_cast<unsigned>(std::min<std::size_t>(context_.threads(), items_.size()));
    Executor executor(std::max(at_once, 1u) - 1);
    std::size_t next = 0;
    executor.run_in_order({.tasks = kMostAhead}, [&]() -> std::optional<Executor::OrderedTask> {
      if (next == items_.size() || Interruption::came()) return std::nullopt;
      const VerifyItem& item = items_[next++];
      const auto outcome = std::make_shared<Outcome>(Outcome{.path = item.file.path});
      const auto finish = [this, outcome, &item](bool has_run) {
        if (!has_run) outcome->failure = shortage("out of memory");
        if (!outcome->is_ignored) report(*outcome, item);
        return true;
      };
      return Executor::OrderedTask{.run = [this, outcome, &item] { *outcome = verify_item(item); }, .finish = finish};
    });
  }

  std::optional<Passed> passed_earlier(const ListedFile& file) const {
    if (!state_) return std::nullopt;
    const auto state = identity_of(file.path);
    if (!state) return std::nullopt;
    const auto passed = state_->find(file.path, *state);
    if (!passed || (!passed->is_container && !file.was_found)) return std::nullopt;
    const std::int64_t age = now_seconds() - passed->when;
    // A time in the future means that the clock was set.
    const bool is_recent = age >= 0 && (!options_.max_age || age < *options_.max_age);
    return is_recent ? passed : std::nullopt;
  }

  Outcome verify_item(const VerifyItem& item) {
    Outcome outcome{.path = item.file.path, .failure = item.file.failure};
    outcome.is_ignored = Interruption::came();
    if (item.file.failure || outcome.is_ignored) return outcome;
    if (const auto passed = passed_earlier(item.file)) {
      outcome.size = passed->file.size;
      outcome.passed = passed->when;
      outcome.is_ignored = !passed->is_container;
      progress_.add(passed->file.size);
      return outcome;
    }
    auto opened = open_file({}, item.file.path, options_.reading.limits, context_.services());
    if (opened) return verify_open(item, *opened->store);
    const Error& error = opened.error();
    const auto state = identity_of(item.file.path);
    if (state) progress_.add(state->size);
    if (is_damage(error)) {
      // So damaged at its head that it cannot be opened.
      outcome.verdict.emplace().findings.push_back(finding_of(error));
    } else if (error.code == Code::kNoContainer && item.file.was_found) {
      outcome.is_ignored = true;
    } else {
      outcome.failure = error;
    }
    if (state) remember(outcome, *state, false);
    return outcome;
  }

  Outcome verify_open(const VerifyItem& item, const RecordStore& store) {
    Outcome outcome{.path = item.file.path, .format = store.traits().format, .size = store.source().size()};
    const FileIdentity opened = store.source().identity().value_or(FileIdentity{});
    const bool is_settled_now = opened.is_settled();
    Verdict verdict = verify_store(store);
    if (verdict.was_stopped) {
      outcome.is_ignored = true;
      return outcome;
    }
    outcome.verdict = std::move(verdict);
    if (is_settled_now || outcome.status() != 0) remember(outcome, opened, true);
    return outcome;
  }

  Verdict verify_store(const RecordStore& store) {
    const auto goes_on = [this](std::uint64_t bytes) {
      progress_.add(bytes);
      return !Interruption::came();
    };
    if (store.source().size() < kLargeFile || context_.threads() == 1) {
      return verify(store, 1, kMemory / (context_.threads() + 1), goes_on);
    }
    const std::lock_guard lock(large_);
    return verify(store, context_.threads(), kMemory, goes_on);
  }

  // Remembers a file that passed and did not change meanwhile. Forgets others.
  void remember(const Outcome& outcome, const FileIdentity& opened, bool is_container) const {
    if (!state_) return;
    const bool has_passed = outcome.status() == 0 && (is_container || outcome.is_ignored);
    if (has_passed && opened.is_settled() && identity_of(outcome.path) == opened) {
      state_->set(outcome.path, {.file = opened, .when = now_seconds(), .is_container = is_container});
    } else {
      state_->remove(outcome.path);
    }
  }

  void report(const Outcome& outcome, const VerifyItem& item) {
    has_container_[item.name] = true;
    counts_.add(outcome);
    context_.note(outcome.status());
    const std::string text = options_.json ? outcome_json(outcome) : findings_text(outcome);
    if (!text.empty() || outcome.failure) progress_.clear();
    if (outcome.failure) print_message(open_failure(outcome.path, *outcome.failure));
    if (!text.empty()) {
      context_.output().write(text);
      context_.output().flush();
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
  Progress progress_;
  std::unique_ptr<VerifyState> state_;
  std::vector<VerifyItem> items_;
  std::vector<bool> has_container_;  // by name on the command line; also true if opening failed
  std::uint64_t to_read_ = 0;        // bytes; only if progress is shown
  Counts counts_;
  Clock::time_point saved_ = Clock::now();
  std::mutex large_;  // held while a large file is verified
};

int verify(const VerifyOptions& options) {
  if (options.files.empty() == options.names_from.empty()) {
    print_message("either FILE or --files0-from is required (try recordfs verify --help)");
    return kExitWrongUse;
  }
  return Verify(options).run();
}

}  // namespace

RunCommand declare_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyOptions>();
  app.footer(
      R"(Prints nothing for good files, and otherwise one line per damaged region, "FILE: bytes BEGIN to END: damage:
REASON; N records lost", or for a chunk that cannot be decoded, "FILE: byte BEGIN: REASON; N records lost".
An empty file is "FILE: empty", with status 0. If there is too little memory, one line says how many chunks were
not checked. Files that cannot be read are reported on standard error. The stale end of a recycled log is not
damage, but an unfinished end is.
Exit status: 0 success, 1 usage error, 2 a file cannot be opened or is not a container, 4 damage, 5 a codec is
missing, a directory has no container (-r), or something could not be read, checked or written. 4 outranks 2,
and 2 outranks 5.)");
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
