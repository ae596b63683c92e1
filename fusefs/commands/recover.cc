#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/helper_process.h"
#include "core/base/location.h"
#include "core/base/utf8.h"
#include "core/dataset/source_spec.h"
#include "core/output/file_linker.h"
#include "core/output/output_file.h"
#include "core/output/output_place.h"
#include "core/output/read_files.h"
#include "core/output/subdirectories.h"
#include "core/recover/recovered_files.h"
#include "core/recover/recovery.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/loss_report.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/recover_database.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kRecoveryMemory = 64u << 20;  // bytes of decoded chunks
constexpr std::size_t kMostPrinted = 20;              // findings of a file
constexpr mode_t kReadAndWrite = 0666;

// Returns the directory that a directory is in, with a slash.
std::string above(const std::string& directory) {
  const std::string parent = std::filesystem::path(directory).parent_path().parent_path().string();
  return parent.ends_with('/') ? parent : parent + '/';
}

// Finds where the files are written. In a directory, which has no OutputPlace::name, each has its own path.
Result<OutputPlace> place_of(const std::string& output) {
  const auto existing = status_at(output);
  if (descriptor_named(output) || (existing && !S_ISREG(existing->st_mode) && !S_ISDIR(existing->st_mode))) {
    return Error{.code = Code::kUnsupported,
                 .detail = "recover reads its output again, so it writes regular files only"};
  }
  if (!output.ends_with('/') && !(existing && S_ISDIR(existing->st_mode))) return OutputPlace::at(output);
  OutputPlace place{.directory_name = output};
  place.directory = Descriptor(::open(output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.directory && errno == ENOENT) return no_directory(above(output));
  if (!place.directory) return system_error(errno);
  return place;
}

// Makes the directory of the output if its name ends with a slash and there is none. The returned process, which is not
// confined, removes it when this process ends, unless there are files in it.
HelperProcess make_directory(const std::string& output) {
  if (!output.ends_with('/') || ::mkdir(output.c_str(), 0777) != 0) return {};
  return {"recordfs-writer", {}, [&output](int line) {
            char unused = 0;
            while (::recv(line, &unused, 1, 0) < 0 && errno == EINTR) {
            }
            ::rmdir(output.c_str());
          }};
}

class Recover {
 public:
  explicit Recover(const RecoverOptions& options)
      : options_(options),
        directory_(make_directory(options.output)),
        place_(place_of(options.output)),
        report_(options.report, options.replaces),
        linker_(linker_of(options, place_)),
        outputs_{.directory = place_ ? place_->directory_name : std::string(),
                 .links = options.links,
                 .manifest = options.manifest,
                 .report = options.report,
                 .is_report = [this](const std::string& path) { return report_.is_at(path); }},
        context_(options.reading, [](Severity, const std::string&) {}, {outputs_.directory, report_.directory()}),
        progress_("recover", Progress::Unit::kBytes) {}

  int run() {
    context_.services().index.reset();  // a saved index is no evidence of what the file has
    if (!place_) return fail_at(options_.output, place_.error());
    if (!linker_) return fail_at(options_.output, linker_.error());
    recover_all();
    remove_empty_directories(place_->directory.number(), created_);
    progress_.finish();
    if (is_one_file_ ? has_published_ : has_published_ || !Interruption::came()) {
      for (const std::string& path : unwritten_) {
        report_.write(skipped_line(path, finding_of_file("unwritten", "this file is not recovered", Impact::kDamage)));
      }
    } else {
      report_.discard();
    }
    if (!Interruption::came() || has_published_) {
      if (const auto finished = report_.finish(); !finished) fail_to_write(report_.path(), finished.error());
    }
    report_.discard();
    Interruption::pass_on();
    const int status = context_.finish();
    return failure_ != kExitGood ? failure_ : status;
  }

 private:
  static Result<std::optional<FileLinker>> linker_of(const RecoverOptions& options, const Result<OutputPlace>& place) {
    if (!options.links || !place) return std::optional<FileLinker>();
    ASSIGN_OR_RETURN(auto linker, FileLinker::into(place->directory, options.replaces));
    return std::optional(std::move(linker));
  }
  static int fail_at(const std::string& path, const Error& error) {
    print_message(failure_text(path, error));
    return error.code == Code::kUnsupported ? kExitWrongUse : kExitPartlyDone;
  }

  // Prints why a file is not written. This outranks what others have lost.
  void fail(int status, const std::string& text) {
    context_.fail(status, text);
    failure_ = worse_of(failure_, status);
  }

  void recover_all() {
    std::vector<RecoveredFile> files;
    for (const std::string& word : options_.files) add_set({}, {word}, files);
    if (!options_.manifest.empty()) add_set(options_.manifest, {}, files);
    if (!place_->name.empty() && files.size() > 1) {
      return fail(kExitWrongUse, fmt::format("{}: several files are recovered into a directory (try: -o {}/)",
                                             options_.output, options_.output));
    }
    if (!place_->name.empty() && !files.empty()) files.front().name = place_->name;
    const std::vector<std::string> conflicts = outputs_.conflicts(files);
    for (const std::string& text : conflicts) fail(kExitWrongUse, text);
    if (!conflicts.empty()) return;
    if (const auto begun = report_.begin(); !begun) {
      fail_to_write(report_.path(), begun.error());
      return;
    }
    for (const MissingShards& missing : missing_) report_.write(skipped_line(missing));
    is_one_file_ = files.size() == 1;
    unwritten_.reserve(files.size());
    for (const RecoveredFile& file : files) unwritten_.push_back(file.path);
    if (progress_.is_shown()) {
      for (const RecoveredFile& file : files) progress_.expect(size_of(file.path));
    }
    for (const RecoveredFile& file : files) {
      if (!recover(file.path, file.name)) return;
    }
  }

  void add_set(const std::string& manifest, const std::vector<std::string>& words, std::vector<RecoveredFile>& files) {
    const std::vector<NamedFile> set = named_files(manifest, words, context_);
    for (const NamedFile& file : set) {
      if (file.missing) missing_.push_back(*file.missing);
    }
    for (RecoveredFile& file : with_names(set)) files.push_back(std::move(file));
  }

  // Returns false if no more files should be recovered.
  bool recover(const std::string& path, const std::string& name) {
    const std::string target = outputs_.path_of(name);
    const auto source = status_at(path);
    const auto store = context_.open(path);
    if (!store) failure_ = worse_of(failure_, kExitCannotOpen);
    if (!store) return true;
    if (*linker_ && source && S_ISREG(source->st_mode) && Location(path).is_local()) {
      const auto verdict = verify(*store, context_.threads(), kRecoveryMemory, [this](std::uint64_t bytes) {
        progress_.add(bytes);
        return !Interruption::came();
      });
      if (verdict.was_stopped) return false;
      const auto is_loss = [](const Finding& finding) { return finding.impact != Impact::kNone; };
      if (std::ranges::none_of(verdict.findings, is_loss)) {
        progress_.clear();
        const auto directory = open_directory_of(place_->directory.number(), name, &created_);
        if (!directory) return fail_to_write(target, directory.error());
        if (const auto finished = finish_report_of_one(); !finished) {
          return fail_to_write(report_.path(), finished.error());
        }
        const auto linked = (*linker_)->link(path, *source, name);
        if (linked) {
          note_published(path);
          return true;
        }
        if (is_one_file_) report_.withdraw();
        return fail_to_write(target, linked.error());
      }
      progress_.expect(store->source().size());
    }
    if (outputs_.is_linked(path, target)) {
      fail(kExitWrongUse, fmt::format("{}: {}", target, kIsRead));
      return true;
    }
    const FileWriter* const format = writer_for(*store);
    if (format == nullptr) {
      fail(kExitPartlyDone, fmt::format("{}: recover does not write {} files yet", path, store->traits().format));
      return true;
    }
    if (has_other_name(target, *format)) {
      print_message(
          fmt::format("{}: becomes a {} file, although its name is that of another format (try: recordfs export)",
                      target, format->format));
    }
    auto directory = open_directory_of(place_->directory.number(), name, &created_);
    if (!directory) return fail_to_write(target, directory.error());
    OutputFile output(std::move(*directory), name.substr(name.rfind('/') + 1),
                      {.replaces = options_.replaces,
                       .mode = source && S_ISREG(source->st_mode) ? source->st_mode & kReadAndWrite : kReadAndWrite});
    if (const auto created = output.create(); !created) return fail_to_write(target, created.error());
    const Recovery::Options recovery{.threads = context_.threads(),
                                     .memory = kRecoveryMemory,
                                     .skips_unsupported = options_.skips_unsupported,
                                     .goes_on = [this](std::uint64_t bytes) {
                                       progress_.add(bytes);
                                       return !Interruption::came();
                                     }};
    Recovered recovered = Recovery(*store, *format, recovery, context_.services()).run(output);
    if (recovered.was_stopped || Interruption::came()) return false;
    progress_.clear();
    for (const Finding& finding : recovered.lost) report_.write(skipped_line(path, finding));
    if (!recovered.error) {
      if (auto completed = output.complete(); !completed) recovered.error = std::move(completed).error();
    }
    if (!recovered.error) {
      const auto finished = finish_report_of_one();
      if (!finished) return fail_to_write(report_.path(), finished.error());
    }
    if (!recovered.error) {
      if (auto published = output.publish(); !published) recovered.error = std::move(published).error();
      if (!recovered.error) note_published(path);
    }
    print_losses(path, recovered);
    if (!recovered.error) return true;
    if (is_one_file_) report_.withdraw();
    return fail_to_write(recovered.error->code == Code::kUnsupported ? path : target, *recovered.error);
  }

  // Gives the report of one file its name, which comes before that of the file. That of a set gets it last.
  Result<void> finish_report_of_one() {
    if (!is_one_file_) return {};
    return report_.finish();
  }

  void note_published(const std::string& path) {
    has_published_ = true;
    std::erase(unwritten_, path);
  }

  bool fail_to_write(const std::string& target, const Error& error) {
    fail(kExitPartlyDone, failure_text(target, error));
    return error.os_error == EEXIST || error.os_error == ENOTDIR;
  }

  void print_losses(const std::string& path, const Recovered& recovered) {
    if (recovered.lost.empty()) return;
    if (!recovered.error) context_.note(kExitDamage);
    for (std::size_t i = 0; i < std::min(kMostPrinted, recovered.lost.size()); ++i) {
      print_message(fmt::format("{}: {}", path, to_string(recovered.lost[i])));
    }
    if (recovered.lost.size() > kMostPrinted) {
      print_message(
          fmt::format("{}: and {} more regions (--report lists them)", path, recovered.lost.size() - kMostPrinted));
    }
    if (!recovered.error) {
      print_message(fmt::format("{}: {} written; {} lost", path, counted(recovered.records, "record"),
                                to_string(recovered.losses())));
    }
  }

  const RecoverOptions& options_;
  const Interruption interruption_;
  const HelperProcess directory_;                   // made before the context confines the process
  const Result<OutputPlace> place_;                 // likewise
  LossReport report_;                               // likewise
  const Result<std::optional<FileLinker>> linker_;  // likewise
  const RecoveryOutputs outputs_;
  CommandContext context_;
  Progress progress_;
  std::vector<std::string> created_;    // subdirectories of the output
  std::vector<MissingShards> missing_;  // of the sets
  int failure_ = kExitGood;             // the worst status of files that are not written
  bool is_one_file_ = false;            // whose report is complete before the file is
  bool has_published_ = false;          // a file, which the report describes
  std::vector<std::string> unwritten_;  // paths of the files without an output
};

}  // namespace

RunCommand declare_recover(CLI::App& app) {
  const auto options = std::make_shared<RecoverOptions>();
  app.footer(
      "Writes another file of the same format with every record that recordfs cat --skip-damage writes, byte for byte "
      "and in the same order, and with its metadata if they can be read. Intact chunks are copied as they are stored, "
      "if the format permits that. The output is read again and compared before it gets its name; the source is never "
      "changed. The directory of a database becomes a new database, or for engines with column families one table for "
      "each of them, with the newest value of each key.\n"
      "Exit status: 0 if nothing was lost, 4 if something was, and is reported on standard error. Any other status "
      "means that a file was not written: 1 usage error, 2 a file cannot be opened or is not a container, 5 another "
      "error, as a full disk, or a format that recordfs does not write.");
  declare_sets(app, options->files, options->manifest);
  declare_value(app, "-o,--output", "OUT", options->output,
                "the file to write, or the directory of the files\n"
                "If OUT is a directory or ends with a slash, each file is recovered to a file of the same name in it. "
                "Files of subdirectories are recovered to the same subdirectories of OUT.")
      ->required();
  app.add_flag("-f,--force", options->replaces, "replace existing files");
  app.add_flag("-l,--link", options->links,
               "hard-link files that lost nothing, instead of writing copies of them\n"
               "A link is the same file as FILE: later changes of one appear in both. Both must be on one filesystem.");
  app.add_flag("--skip-unsupported", options->skips_unsupported,
               "leave out records that cannot be decoded here, as if they were lost\n"
               "Without this, nothing is written if a codec is unknown or a size exceeds the limits. Both can also be "
               "the result of damage, in formats without a checksum of their headers.");
  declare_value(
      app, "--report", "F", options->report,
      "list the losses in F, as lines of JSON\n"
      "Each has `file`, `begin`, `end`, `class`, `reason` and `records_lost`. Of a database, they are the keys "
      "without a readable value and those whose value may be stale: `file`, `key`, `class`, and `reason` or "
      "`value_from`. Damage that may have cost other keys has no `key`, nor has a line of class `stale` that means "
      "all keys.");
  options->reading.declare(app);
  options->reading.declare_database(app);
  return [options] {
    const bool is_database = options->manifest.empty() && options->files.size() == 1 &&
                             SourceSpec{.words = options->files}.kind() == SourceSpec::Kind::kDatabase;
    const database::Options& database = options->reading.database;
    const bool has_directories = !database.wal_directory.empty() || !database.table_directories.empty();
    if (is_database ? options->links || options->skips_unsupported : has_directories) {
      print_message(is_database ? "--link, --skip-unsupported: are for files, not for databases"
                                : "--wal-dir, --db-path: are for databases, not for files");
      return int{kExitWrongUse};
    }
    if (is_database) return recover_database_directory(*options);
    if (const std::string* const other = database_among(options->files)) {
      print_message(printable(*other) + ": a database, which is recovered alone");
      return int{kExitWrongUse};
    }
    return Recover(*options).run();
  };
}

}  // namespace recordfs
