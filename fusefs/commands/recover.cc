#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/location.h"
#include "core/dataset/source_spec.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/database_recovery.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/output_directory.h"
#include "fusefs/commands/output_file.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/recovery.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kRecoveryMemory = 64u << 20;  // bytes of decoded chunks
constexpr std::size_t kMostPrinted = 20;              // findings of a file
constexpr mode_t kReadAndWrite = 0666;

struct RecoverOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  std::string output;  // a file, or a directory
  std::string report;  // a file; empty: none
  bool replaces = false;
};

std::optional<struct stat> status_at(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? std::optional(st) : std::nullopt;
}

bool is_same_file(const std::string& one, const std::string& other) {
  const auto a = status_at(one);
  const auto b = status_at(other);
  return a && b && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Where the output files are written.
struct OutputPlace {
  std::string directory;  // path
  std::string name{};     // of the only file; empty: each has the name of its source

  std::string path_of(const std::string& file_name) const {
    return (std::filesystem::path(directory) / file_name).string();
  }
};

OutputPlace place_of(const std::string& output) {
  std::error_code failed;
  const std::filesystem::path path(output);
  if (!path.has_filename() || std::filesystem::is_directory(path, failed)) return {.directory = output};
  const std::string parent = path.parent_path().string();
  return {.directory = parent.empty() ? "." : parent, .name = path.filename().string()};
}

Result<Descriptor> open_directory(const OutputPlace& place) {
  if (place.name.empty()) ::mkdir(place.directory.c_str(), 0777);  // if it fails, so does open()
  Descriptor directory(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_error(errno);
  return directory;
}

// Opens the file that lists what was lost. An existing one is replaced only with --force.
Result<std::unique_ptr<Output>> open_report(const RecoverOptions& options) {
  if (options.report.empty()) return std::unique_ptr<Output>();
  const auto is_source = [&](const std::string& file) { return is_same_file(file, options.report); };
  if (std::ranges::any_of(options.files, is_source) || options.report == options.output) {
    return Error{.code = Code::kIo, .detail = "the report would replace another file of this command"};
  }
  const auto existing = status_at(options.report);
  const bool is_special = existing && !S_ISREG(existing->st_mode);
  const int creates = is_special ? 0 : O_CREAT | (options.replaces ? O_TRUNC : O_EXCL);
  Descriptor file(::open(options.report.c_str(), O_WRONLY | O_CLOEXEC | creates, kReadAndWrite));
  if (!file) return system_error(errno);
  return std::make_unique<Output>(std::move(file), options.report);
}

// Returns "997 records written; 3 lost", "at least 3 lost", "an unknown number lost".
std::string summary_of(const Recovered& recovered) {
  const std::uint64_t lost = recovered.records_lost();
  const std::string number = !recovered.may_have_lost_more() ? fmt::format("{}", lost)
                             : lost > 0                      ? fmt::format("at least {}", lost)
                                                             : "an unknown number";
  return fmt::format("{} written; {} lost", counted(recovered.records, "record"), number);
}

// Recovers the directory of a database to a new directory.
class RecoverDatabase {
 public:
  explicit RecoverDatabase(const RecoverOptions& options)
      : options_(options),
        report_(open_report(options)),
        directory_(OutputDirectory::create(options.output)),
        context_(
            options.reading, [](Severity, const std::string&) {}, directory_ ? (*directory_)->path() : std::string()) {}

  int run() {
    if (!report_) return fail(options_.report, report_.error());
    if (!directory_) return fail(options_.output, directory_.error());
    const auto reader = DatabaseReader::open({.files = options_.files}, context_);
    if (!reader) return context_.status();
    const auto recovered = recover_database(*reader, context_, (*directory_)->path(), report_->get(),
                                            [] { return !Interruption::came(); });
    if (!recovered && recovered.error().code != Code::kInterrupted) fail(options_.output, recovered.error());
    if (!recovered) return finish();
    if (const auto published = (*directory_)->publish(); !published) {
      fail(options_.output, published.error());
      return finish();
    }
    is_published_ = true;
    if (recovered->lost + recovered->stale > 0) context_.note(kExitDamage);
    if (context_.status() == kExitDamage) {
      print_message(fmt::format("{}: {} written; {} lost, {} may be stale", reader->path(),
                                counted(recovered->keys, "key"), recovered->lost, recovered->stale));
    }
    return finish();
  }

 private:
  int fail(const std::string& path, const Error& error) {
    context_.fail(kExitPartlyDone, fmt::format("{}: {}", path, error.detail));
    return context_.status();
  }
  int finish() {
    if (*report_) context_.note((*report_)->finish());
    directory_ = Error{};  // removes what is not published
    Interruption::pass_on();
    const int status = context_.finish();
    return !is_published_ && status == kExitDamage ? kExitPartlyDone : status;
  }

  const RecoverOptions& options_;
  const Interruption interruption_;
  const Result<std::unique_ptr<Output>> report_;        // opened before the context confines the process
  Result<std::unique_ptr<OutputDirectory>> directory_;  // likewise
  CommandContext context_;
  bool is_published_ = false;
};

class Recover {
 public:
  explicit Recover(const RecoverOptions& options)
      : options_(options),
        place_(place_of(options.output)),
        directory_(open_directory(place_)),
        report_(open_report(options)),
        context_(
            options.reading, [](Severity, const std::string&) {}, place_.directory),
        progress_("recover", Progress::Unit::kBytes) {}

  int run() {
    context_.services().index.reset();  // a saved index is no evidence of what the file has
    if (!directory_) return fail_at(place_.directory, directory_.error());
    if (!report_) return fail_at(options_.report, report_.error());
    recover_all();
    progress_.clear();
    if (*report_) context_.note((*report_)->finish());
    Interruption::pass_on();
    const int status = context_.finish();
    return failure_ != kExitGood ? failure_ : status;
  }

 private:
  static int fail_at(const std::string& path, const Error& error) {
    print_message(fmt::format("{}: {}{}", path, error.detail, error.os_error == EEXIST ? " (-f replaces it)" : ""));
    return kExitPartlyDone;
  }

  // Prints why a file is not written. This outranks what others have lost.
  void fail(int status, const std::string& text) {
    context_.fail(status, text);
    failure_ = worse_of(failure_, status);
  }

  void recover_all() {
    std::vector<std::string> paths;
    for (const std::string& word : options_.files) add_paths({}, {word}, paths);
    if (!options_.manifest.empty()) add_paths(options_.manifest, {}, paths);
    if (!place_.name.empty() && paths.size() > 1) {
      return fail(kExitWrongUse, fmt::format("{}: several files are recovered into a directory (try: -o {}/)",
                                             options_.output, options_.output));
    }
    std::map<std::string, std::string> sources;  // by name of the output
    for (const std::string& path : paths) {
      const std::string name = place_.name.empty() ? std::string(Location(path).name()) : place_.name;
      const auto [other, is_new] = sources.emplace(name, path);
      if (!is_new) {
        fail(kExitPartlyDone, fmt::format("{}: has the same name as {}", path, other->second));
      } else if (!recover(path, name)) {
        return;
      }
    }
  }

  void add_paths(const std::string& manifest, const std::vector<std::string>& words, std::vector<std::string>& paths) {
    for (NamedFile& file : named_files(manifest, words, context_)) {
      if (!file.missing && !file.is_surplus) paths.push_back(std::move(file.path));
    }
  }

  // Returns false if no more files should be recovered.
  bool recover(const std::string& path, const std::string& name) {
    const std::string target = place_.path_of(name);
    if (is_same_file(path, target)) {
      fail(kExitWrongUse, fmt::format("{}: is the file that is recovered, which is never written", target));
      return true;
    }
    const auto store = context_.open(path);
    if (!store) failure_ = worse_of(failure_, kExitCannotOpen);
    if (!store) return true;
    const FileWriter* const format = writer_for(*store);
    if (format == nullptr) {
      fail(kExitPartlyDone, fmt::format("{}: recover does not write {} files yet", path, store->traits().format));
      return true;
    }
    const auto source = status_at(path);
    OutputFile output(Descriptor(::fcntl(directory_->number(), F_DUPFD_CLOEXEC, 0)), name,
                      {.replaces = options_.replaces,
                       .mode = source && S_ISREG(source->st_mode) ? source->st_mode & kReadAndWrite : kReadAndWrite});
    if (const auto created = output.create(); !created) return fail_to_write(target, created.error());
    const Recovery::Options recovery{
        .threads = context_.threads(), .memory = kRecoveryMemory, .goes_on = [this](std::uint64_t bytes) {
          progress_.add(bytes);
          return !Interruption::came();
        }};
    Recovered recovered = Recovery(*store, *format, recovery, context_.services()).run(output);
    if (recovered.was_stopped || Interruption::came()) return false;
    progress_.clear();
    if (!recovered.error) {
      if (auto published = output.publish(); !published) recovered.error = std::move(published).error();
    }
    report(path, recovered);
    if (recovered.error) return fail_to_write(target, *recovered.error);
    return true;
  }

  bool fail_to_write(const std::string& target, const Error& error) {
    fail(kExitPartlyDone,
         fmt::format("{}: {}{}", target, error.detail, error.os_error == EEXIST ? " (-f replaces it)" : ""));
    return error.os_error == EEXIST;
  }

  // Prints and lists what was lost of a file.
  void report(const std::string& path, const Recovered& recovered) {
    for (const Finding& finding : recovered.lost) {
      if (*report_) (*report_)->write(skipped_line(path, finding));
    }
    if (recovered.lost.empty()) return;
    if (!recovered.error) context_.note(kExitDamage);
    for (std::size_t i = 0; i < std::min(kMostPrinted, recovered.lost.size()); ++i) {
      print_message(fmt::format("{}: {}", path, to_string(recovered.lost[i])));
    }
    if (recovered.lost.size() > kMostPrinted) {
      print_message(
          fmt::format("{}: and {} more regions (--report lists all)", path, recovered.lost.size() - kMostPrinted));
    }
    if (!recovered.error) print_message(fmt::format("{}: {}", path, summary_of(recovered)));
  }

  const RecoverOptions& options_;
  const Interruption interruption_;
  const OutputPlace place_;
  const Result<Descriptor> directory_;            // opened before the context confines the process
  const Result<std::unique_ptr<Output>> report_;  // likewise
  CommandContext context_;
  Progress progress_;
  int failure_ = kExitGood;  // the worst status of files that are not written
};

}  // namespace

RunCommand declare_recover(CLI::App& app) {
  const auto options = std::make_shared<RecoverOptions>();
  app.footer(
      "Writes another file of the same format with every record that recordfs cat --skip-damage writes, byte for byte "
      "and in the same order, and with what can be read of the metadata. Intact chunks are copied as they are stored, "
      "if the format permits that. The output is read again and compared before it gets its name; the source is never "
      "changed. The directory of a database becomes a new directory with the newest value of each key.\n"
      "Exit status: 0 if nothing was lost, 4 if something was, and is reported on standard error. Any other status "
      "means that a file was not written: 1 usage error, 2 a file cannot be opened or is not a container, 5 another "
      "error, as a full disk, or a format that recordfs does not write.");
  declare_sets(app, options->files, options->manifest);
  declare_value(app, "-o,--output", "OUT", options->output,
                "the file to write, or the directory of the files\n"
                "If OUT is a directory or ends with a slash, each file is recovered to a file of the same name in it.")
      ->required();
  app.add_flag("-f,--force", options->replaces, "replace existing files");
  declare_value(
      app, "--report", "F", options->report,
      "list what was lost in F, as lines of JSON\n"
      "Each has `file`, `begin`, `end`, `class`, `reason` and `records_lost`. Of a database, they are the keys "
      "without a readable value and those whose value may be stale: `file`, `key`, `class`, and `reason` or "
      "`value_from`.");
  options->reading.declare(app);
  return [options] {
    const bool is_database = options->manifest.empty() && options->files.size() == 1 &&
                             SourceSpec{.words = options->files}.kind() == SourceSpec::Kind::kDatabase;
    return is_database ? RecoverDatabase(*options).run() : Recover(*options).run();
  };
}

}  // namespace recordfs
