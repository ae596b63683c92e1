#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/utf8.h"
#include "core/export/record_files_copier.h"
#include "core/output/whole_files.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct CpOptions {
  ReadingOptions reading;
  RecordWords words;
  bool is_raw = false;  // copies files as they are
  RecordFilesCopier::Options copy{};
};

// Opens DIR, and creates it if it is missing and the command may find records.
Result<Descriptor> output_directory(const RecordWords& words) {
  const bool may_find = !words.manifest.empty() || std::ranges::any_of(words.files, names_file);
  if (may_find) ::mkdir(words.directory.c_str(), 0777);  // if it fails, so does open()
  Descriptor directory(::open(words.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_error(errno);
  return directory;
}

class Cp {
 public:
  explicit Cp(const CpOptions& options)
      : options_(options),
        copy_(options.copy),
        directory_(output_directory(options.words)),
        context_(options.reading, std::vector{options.words.directory}),
        progress_("cp", Progress::Unit::kRecords) {
    if (!options.copy.decodes()) return;
    context_.decode_with(options.copy.types);
    context_.require_metadata();
  }

  int run() {
    const auto reader = open_set(options_.words, context_);
    if (!reader) {
      Interruption::pass_on();
      return context_.status();
    }
    if (!directory_) {
      print_message(fmt::format("{}: {}", options_.words.directory, directory_.error().detail));
      return kExitCannotOpen;
    }
    if (copy_.files.replaces) copy_.files.read = files_read(options_.words, reader->set());
    copier_.emplace(std::move(*directory_), copy_, context_,
                    RecordFilesCopier::Caller{
                        .has_copied = [this](std::uint64_t records) { progress_.add(records); },
                        .report = [this](const RecordFiles::Failure& failure) { report(failure); },
                    });
    each_range(options_.words, context_, [&](const Range& range) { return copy(range, *reader); });
    progress_.clear();
    report_condition(options_.copy.condition.get(), !copier_->has_failed() && context_.goes_on(), context_);
    report_incomplete(reader->name());
    Interruption::pass_on();
    return context_.finish();
  }

 private:
  // Says how many records lack what was wanted of them.
  void report_incomplete(const std::string& name) {
    const RecordFiles::Options& files = options_.copy.files;
    for (std::size_t part = 0; part < files.parts.size(); ++part) {
      const std::uint64_t records = copier_->without_part()[part];
      if (records == 0) continue;
      context_.fail(kExitPartlyDone,
                    fmt::format("{}: {} without a part {}", name, counted(records, "record"), files.parts[part]));
    }
    const RecordFilesCopier::NotCopied& taken = copier_->of_taken_name();
    const RecordFilesCopier::NotCopied& unnamed = copier_->without_name();
    if (taken.records > 0) {
      context_.fail(kExitPartlyDone,
                    fmt::format("{}: {} with the name of an existing file or of another record; the "
                                "first is {}: {} (try: {{ordinal}} in --name)",
                                name, counted(taken.records, "record"), taken.first, printable(taken.why)));
    }
    if (unnamed.records == 0) return;
    context_.fail(kExitPartlyDone, fmt::format("{}: {} without a name; the first is {}: {}", name,
                                               counted(unnamed.records, "record"), unnamed.first, unnamed.why));
    if (files.pattern != nullptr) report_absent(&files.pattern->fields(), context_);
  }

  // Returns false if copying has to stop.
  bool copy(const Range& range, SetReader& reader) {
    if (const auto* ordinals = std::get_if<OrdinalRange>(&range)) {
      if (const OrdinalInterval span = span_of(*ordinals, 0); span.end != UINT64_MAX && !options_.copy.condition)
        progress_.set_total(span.end - span.begin);
      return reader.each(*ordinals, [this](const SetMember& member, const Selection& selection) {
        return copier_->copy(member, selection);
      });
    }
    const auto found = reader.find_record(std::get<RecordAddress>(range));
    return !found || copier_->copy(found->first, found->second).has_value();
  }

  // Prints why a file is not written.
  void report(const RecordFiles::Failure& failure) {
    context_.fail(kExitPartlyDone, fmt::format("{}/{}: {}{}", options_.words.directory, failure.name,
                                               failure.why.detail, failure.is_there ? " (-f replaces it)" : ""));
  }

  const CpOptions& options_;
  RecordFilesCopier::Options copy_;
  const Interruption interruption_;
  Result<Descriptor> directory_;  // opened before the context confines the process
  CommandContext context_;
  Progress progress_;
  std::optional<RecordFilesCopier> copier_;
};

// A signal ends it at once, and leaves what the next copy continues.
int copy_whole_files(const CpOptions& options) {
  const RecordWords& words = options.words;
  auto directory = output_directory(words);  // opened before the context confines the process
  CommandContext context(options.reading, std::vector{words.directory});
  if (const std::string* const database = database_among(words.files)) {
    context.fail(kExitWrongUse, printable(*database) + ": a database, which has other files too (try: '" +
                                    printable(*database) + "/*')");
    return context.status();
  }
  auto list = name_shards(words, context);
  if (!list) return context.status();
  add_empty_files(words.files, *list);
  if (!directory) {
    print_message(fmt::format("{}: {}", words.directory, directory.error().detail));
    return kExitCannotOpen;
  }
  const auto files = with_names_of_copies(*list, context);
  Progress progress("cp", Progress::Unit::kBytes);
  const CopyListener listener{
      .expects = [&](std::uint64_t bytes) { progress.set_total(bytes); },
      .has_copied = [&](std::uint64_t bytes) { progress.add(bytes); },
      .fail =
          [&](const std::string& name, const FileCopier::Failure& failure) {
            const bool is_locked = failure.why.os_error == EWOULDBLOCK;
            context.fail(kExitPartlyDone, fmt::format("{}/{}: {}{}", words.directory, name,
                                                      is_locked ? "another process copies it" : failure.why.detail,
                                                      failure.why.os_error == EEXIST ? " (-f replaces it)" : ""));
          },
  };
  const FileCopier copier(*std::move(directory), options.copy.files.replaces);
  copy_files(files, copier, listener, context);
  progress.clear();
  return context.finish();
}

// Whole files have all their records.
void check_raw(const CpOptions& options) {
  const RecordWords& words = options.words;
  if (options.copy.condition) throw CLI::ValidationError("--raw", "excludes --where");
  const auto all = parse_range(":");
  const bool is_all = !words.reads_ranges && words.ranges.size() == 1 && words.ranges.front() == *all;
  if (!is_all) throw CLI::ValidationError("--raw", "copies whole files, so RANGE must be :");
  const bool reads_input = std::ranges::find(words.files, kStandardInput) != words.files.end();
  if (reads_input) throw CLI::ValidationError("--raw", "cannot copy standard input");
}

// Two files must not have one name.
void check_names(const RecordFiles::Options& files) {
  if (files.pattern != nullptr) {
    if (files.parts.size() > 1 && !files.pattern->has_part()) {
      throw CLI::ValidationError("--name", "several parts need {part} in it");
    }
    if (files.replaces && !files.pattern->has_ordinal()) {
      throw CLI::ValidationError("--name", "with --force it needs {ordinal}, or one record could replace another");
    }
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < files.parts.size(); ++i) {
    if (names.insert(files.name_of(0, i)).second) continue;
    throw CLI::ValidationError("--part", "two parts have the same file name: " + files.parts[i]);
  }
}

}  // namespace

RunCommand declare_cp(CLI::App& app) {
  const auto options = std::make_shared<CpOptions>();
  app.footer(
      "DIR is created if it is missing. Files are named by their ordinals, as in records/ of a mount: 000000042. "
      "Ordinals continue from file to file, "
      "so several files never have a name in common. A file gets its name once it is complete. A record that cannot be "
      "read creates no file; all others are copied, and the exit status is 4.\n" +
      std::string(kRangeHelp));
  declare_words(app, options->words, WordUse::kFilesRangeAndDir, "which records to copy; : means all",
                [options = options.get()] {
                  if (options->is_raw) check_raw(*options);
                  check_names(options->copy.files);
                });
  begin_group(app, "Which records");
  declare_where(app, options->copy.condition);
  declare_types(
      app, options->copy.types, [options = options.get()] { return options->copy.decodes(); }, "--where or --name");
  begin_group(app, "Output");
  app.add_flag("-f,--force", options->copy.files.replaces,
               "replace existing files\n"
               "Symbolic links are replaced too. Without this option existing files are not changed, and the exit "
               "status is 5.");
  auto* const raw = app.add_flag(
      "--raw", options->is_raw,
      "copy whole files as they are, not their records; RANGE must be :\n"
      "Of a directory, these are the containers and the empty files; 'FILE/*' means all files. "
      "A copy gets its name once it is complete. Until then hidden files have its bytes and their checksums. The same "
      "command continues after the bytes that still match them, if the file that is copied has not changed.");
  declare_value(
      app, "--suffix", "S",
      [options = options.get()](const std::string& text) {
        constexpr std::size_t kLongest = 100;
        if (text.size() > kLongest || text.find('/') != std::string::npos) {
          throw CLI::ValidationError("--suffix", "not the end of a file name: " + text);
        }
        options->copy.files.suffix = text;
      },
      "append S to the names of files, for example .png")
      ->excludes(raw);
  declare_value(
      app, "--name", "PATTERN",
      [options = options.get()](const std::string& text) {
        auto pattern = NamePattern::parse(text);
        if (!pattern) throw CLI::ValidationError("--name", pattern.error().detail);
        options->copy.files.pattern = std::move(*pattern);
      },
      "name files by fields of their records: '{label}/{ordinal}.jpg'\n"
      "{ordinal} is the record's, {part} is PATH with dots for slashes, and any other name in braces is a field as of "
      "`grep --field`. Slashes make directories. A slash in a value is written as %2F. A record without exactly one "
      "value of each field creates no file, and the exit status is 5.")
      ->excludes(raw);
  declare_list(app, "--part", "PATH", options->copy.files.parts,
               "copy a part of each record, by its path in inside/: image/encoded; may be repeated\n"
               "PATH is as in a mount, but slashes in names need no encoding. It names one file and not a directory: "
               "tags/Truth/2. A record without this part creates no "
               "file, and the exit status is 5. Of several parts, each file has the path in its name, with dots: "
               "`000000042.image.encoded` and `000000042.label`.")
      ->excludes(raw)
      ->check([](const std::string& path) {
        return path.size() < PATH_MAX ? std::string() : "longer than any path in a mount";
      });
  options->reading.declare(app);
  return [options] { return options->is_raw ? copy_whole_files(*options) : Cp(*options).run(); };
}

}  // namespace recordfs
