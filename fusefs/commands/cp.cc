#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/publish_file.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/commands/where.h"
#include "fusefs/commands/whole_files.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/tree/record_part.h"

namespace recordfs {
namespace {

struct CpOptions {
  ReadingOptions reading;
  RecordWords words;
  bool replaces = false;
  bool is_raw = false;             // copies files as they are
  std::string suffix;              // of the names of files
  std::vector<std::string> parts;  // paths of what is copied of a record; none: the record
  ConditionPointer condition{};    // on which records are copied
  UserTypes types{};               // for it

  // Returns "000000042", as in the mount's records/, and the suffix. Of several parts, each has its path between them:
  // "000000042.image.encoded".
  std::string name_of(std::uint64_t ordinal, std::size_t part = 0) const {
    std::string path = parts.size() > 1 ? "." + parts[part] : "";
    std::ranges::replace(path, '/', '.');
    return fmt::format("{:09}{}{}", ordinal, path, suffix);
  }
};

// Writes records as files of a directory. A file gets its name when it is complete. Nothing is written through a
// symbolic link. Thread-safe.
class RecordFiles {
 public:
  // Why a file was not written, or several files of an unreadable record.
  struct Failure {
    std::size_t part = 0;       // its number
    bool is_of_record = false;  // unreadable: `why` is as of RecordReader::read
    bool is_there = false;      // the file exists and must not be replaced
    bool has_no_part = false;   // the record does not have the part; `why` says nothing
    Error why;

    bool ends_copy() const { return !is_of_record && !is_there && !has_no_part; }
  };

  // `options` must outlive the object.
  RecordFiles(Descriptor directory, const CpOptions& options)
      : directory_(std::move(directory)), options_(options), replaces_(options.replaces) {}

  // Writes a record of a decoded chunk, or its parts, to files named by its ordinal. Returns what failed.
  std::vector<Failure> write(const RecordStore& store, const Chunk& chunk, std::uint64_t index,
                             std::uint64_t ordinal) const {
    if (options_.parts.empty()) {
      auto failure =
          write_file(options_.name_of(ordinal), [&](int file) { return write_record(store, chunk, index, file); });
      return failure ? std::vector{std::move(*failure)} : std::vector<Failure>{};
    }
    const auto record = store.records().read({}, chunk, index, 0, UINT64_MAX);
    if (!record) return {Failure{.is_of_record = true, .why = record.error()}};
    const auto parts = parts_of_record(store.schema(), record->bytes, options_.parts);
    if (!parts) return {Failure{.is_of_record = true, .why = parts.error()}};
    std::vector<Failure> failures;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      auto failure = (*parts)[i] ? write_file(options_.name_of(ordinal, i),
                                              [&](int file) { return write_bytes(as_bytes(*(*parts)[i]), file); })
                                 : Failure{.has_no_part = true, .why = {}};
      if (!failure) continue;
      failure->part = i;
      failures.push_back(std::move(*failure));
    }
    return failures;
  }

 private:
  // Writes a file with the content that `write` writes to a descriptor. Returns nullopt on success.
  template <class Write>
  std::optional<Failure> write_file(const std::string& name, const Write& write) const {
    struct stat st {};
    if (!replaces_ && ::fstatat(directory_.number(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      return Failure{.is_there = true, .why = system_error(EEXIST)};
    }
    const std::string unfinished = fmt::format(".{}.{}.recordfs", name, ::getpid());
    ::unlinkat(directory_.number(), unfinished.c_str(), 0);  // left by a killed process
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int file = ::openat(directory_.number(), unfinished.c_str(), flags, 0666);
    if (file < 0) return Failure{.why = system_error(errno)};
    std::optional<Failure> failure = write(file);
    // Some filesystems report a full disk only here.
    if (::close(file) != 0 && !failure) failure = Failure{.why = system_error(errno)};
    if (!failure && !publish_file(directory_.number(), unfinished, name, replaces_)) {
      failure = Failure{.is_there = errno == EEXIST, .why = system_error(errno)};
    }
    if (failure) ::unlinkat(directory_.number(), unfinished.c_str(), 0);
    return failure;
  }

  static std::optional<Failure> write_bytes(Bytes bytes, int file) {
    const int error = write_all(file, bytes);
    return error == 0 ? std::nullopt : std::optional(Failure{.why = system_error(error)});
  }

  static std::optional<Failure> write_record(const RecordStore& store, const Chunk& chunk, std::uint64_t index,
                                             int file) {
    constexpr std::uint64_t kPiece = 1u << 20;
    const std::uint64_t size = chunk.layout().extent(index).size;
    std::uint64_t at = 0;
    do {
      const auto piece = store.records().read({}, chunk, index, at, std::min(kPiece, size - at));
      if (!piece) return Failure{.is_of_record = true, .why = piece.error()};
      if (const int error = write_all(file, piece->bytes); error != 0) {
        return Failure{.why = system_error(error)};
      }
      at += std::max<std::uint64_t>(piece->bytes.size(), 1);
    } while (at < size);
    return std::nullopt;
  }

  const Descriptor directory_;
  const CpOptions& options_;
  const bool replaces_;
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
        directory_(output_directory(options.words)),
        context_(options.reading, options.words.directory),
        progress_("cp", Progress::Unit::kRecords) {
    if (options.condition) context_.decode_with(options.types);
  }

  int run() {
    const auto reader = SetReader::open(options_.words, context_);
    if (!reader) {
      Interruption::pass_on();
      return context_.status();
    }
    if (!directory_) {
      print_message(fmt::format("{}: {}", options_.words.directory, directory_.error().detail));
      return kExitCannotOpen;
    }
    files_.emplace(std::move(*directory_), options_);
    reader->each_range(options_.words, [&](const Range& range) { return copy(range, *reader); });
    progress_.clear();
    report_condition(options_.condition.get(), !is_stopped_ && !Interruption::came(), context_);
    for (std::size_t i = 0; i < without_part_.size(); ++i) {
      if (without_part_[i] == 0) continue;
      context_.fail(kExitPartlyDone, fmt::format("{}: {} without a part {}", reader->name(),
                                                 counted(without_part_[i], "record"), options_.parts[i]));
    }
    Interruption::pass_on();
    return context_.finish();
  }

 private:
  // What failed in a chunk, by ordinal.
  using Failures = std::vector<std::pair<std::uint64_t, RecordFiles::Failure>>;

  // Returns false if copying has to stop.
  bool copy(const Range& range, SetReader& reader) {
    if (const auto* ordinals = std::get_if<OrdinalRange>(&range)) {
      if (const OrdinalInterval span = span_of(*ordinals, 0); span.end != UINT64_MAX && !options_.condition)
        progress_.set_total(span.end - span.begin);
      return reader.each(
          *ordinals, [this](const SetMember& member, const Selection& selection) { return copy(member, selection); });
    }
    const auto& address = std::get<RecordAddress>(range);
    const auto member = reader.member(address.shard, true);
    if (!member) return true;
    const auto selection = select_at(address, *member->store);
    if (selection) return copy(*member, *selection).has_value();
    context_.print_failure(member->path, selection.error());
    return true;
  }

  // Returns as SetReader::Take does.
  std::optional<std::uint64_t> copy(const SetMember& member, const Selection& selection) {
    if (!options_.parts.empty() && member.store->schema().parts == RecordSchema::Parts::kNone) {
      context_.print_failure(member.path,
                             {.code = Code::kNotFound,
                              .detail = fmt::format("the records of {} have no parts", member.store->traits().format)});
      return std::nullopt;
    }
    DamageReporter damage(member.path, *member.store, context_);
    const RecordDecoder decoder(member.store->schema(), member.store->metadata(), options_.types);
    return damage.read({.store = *member.store, .selection = selection}, {.threads = context_.threads()},
                       [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
                         // cppcheck-suppress returnDanglingLifetime
                         return [&, failed = copy_chunk(context, member, decoder, selection, indexed)] {
                           return settle(*member.store, failed);
                         };
                       });
  }

  // Thread-safe.
  Failures copy_chunk(const RequestContext& context, const SetMember& member, const RecordDecoder& decoder,
                      const Selection& selection, const IndexedChunk& indexed) {
    const RecordStore& store = *member.store;
    const std::uint64_t first_ordinal = member.first_ordinal + indexed.before.records;
    Failures failed;
    const OrdinalInterval wanted = selection.within(indexed);
    if (wanted.is_empty()) return failed;
    const auto chunk = store.chunks().decode_ahead(context, indexed.chunk);
    if (!chunk) {
      failed.push_back({first_ordinal, {.is_of_record = true, .why = chunk.error()}});
      return failed;
    }
    SelectedRecords selected{.runs = {wanted}};
    if (options_.condition) {
      selected = select_records(*options_.condition, decoder, store, indexed.chunk, **chunk, wanted, false);
    }
    for (Error& why : selected.failures) {
      failed.push_back({first_ordinal, {.is_of_record = true, .why = std::move(why)}});
    }
    for (const OrdinalInterval& run : selected.runs) copy_run(store, **chunk, run, first_ordinal, failed);
    return failed;
  }

  // Copies records of a chunk. `first_ordinal` is that of the chunk. Thread-safe.
  void copy_run(const RecordStore& store, const Chunk& chunk, OrdinalInterval run, std::uint64_t first_ordinal,
                Failures& failed) {
    for (std::uint64_t i = run.begin; i < run.end && !is_stopped_ && !Interruption::came(); ++i) {
      const std::uint64_t ordinal = first_ordinal + i;
      auto failures = files_->write(store, chunk, i, ordinal);
      if (failures.empty()) progress_.add(1);
      for (RecordFiles::Failure& failure : failures) {
        is_stopped_ = is_stopped_ || failure.ends_copy();
        failed.emplace_back(ordinal, std::move(failure));
      }
    }
  }

  // Prints failures. Returns false if copying has to stop. Chunks skipped after a write error print nothing.
  bool settle(const RecordStore& store, const Failures& failures) {
    for (const auto& [ordinal, failure] : failures) {
      if (failure.has_no_part) {
        ++without_part_[failure.part];
        continue;
      }
      progress_.clear();
      if (failure.is_of_record) {
        context_.report(store, failure.why);
        continue;
      }
      context_.fail(kExitPartlyDone,
                    fmt::format("{}/{}: {}{}", options_.words.directory, options_.name_of(ordinal, failure.part),
                                failure.why.detail, failure.is_there ? " (-f replaces it)" : ""));
      if (!failure.is_there) return false;
    }
    return !Interruption::came();
  }

  const CpOptions& options_;
  const Interruption interruption_;
  Result<Descriptor> directory_;  // opened before the context confines the process
  CommandContext context_;
  Progress progress_;
  std::optional<RecordFiles> files_;
  std::atomic<bool> is_stopped_{false};
  std::vector<std::uint64_t> without_part_ = std::vector<std::uint64_t>(options_.parts.size());  // records, by part
};

// A signal ends it at once, and leaves what the next copy continues.
int copy_files(const CpOptions& options) {
  auto directory = output_directory(options.words);  // opened before the context confines the process
  CommandContext context(options.reading, options.words.directory);
  return copy_whole_files(options.words, std::move(directory), options.replaces, context);
}

// Whole files have all their records.
void check_raw(const CpOptions& options) {
  const RecordWords& words = options.words;
  if (options.condition) throw CLI::ValidationError("--raw", "excludes --where");
  const auto all = parse_range(":");
  const bool is_all = !words.reads_ranges && words.ranges.size() == 1 && words.ranges.front() == *all;
  if (!is_all) throw CLI::ValidationError("--raw", "copies whole files, so RANGE must be :");
  const bool reads_input = std::ranges::find(words.files, kStandardInput) != words.files.end();
  if (reads_input) throw CLI::ValidationError("--raw", "cannot copy standard input");
}

// Two parts of a record must not have one name.
void check_names(const CpOptions& options) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < options.parts.size(); ++i) {
    if (names.insert(options.name_of(0, i)).second) continue;
    throw CLI::ValidationError("--part", "two parts have the same file name: " + options.parts[i]);
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
                  check_names(*options);
                });
  begin_group(app, "Which records");
  declare_where(app, options->condition);
  declare_types(
      app, options->types, [options = options.get()] { return options->condition != nullptr; }, "--where");
  begin_group(app, "Output");
  app.add_flag("-f,--force", options->replaces,
               "replace existing files\n"
               "Symbolic links are replaced too. Without this option existing files are not changed, and the exit "
               "status is 5.");
  auto* const raw = app.add_flag(
      "--raw", options->is_raw,
      "copy whole files as they are, not their records; RANGE must be :\n"
      "A copy gets its name once it is complete. Until then it is a hidden file beside it, which the same command "
      "continues if the file that is copied has not changed.");
  declare_value(
      app, "--suffix", "S",
      [options = options.get()](const std::string& text) {
        constexpr std::size_t kLongest = 100;
        if (text.size() > kLongest || text.find('/') != std::string::npos) {
          throw CLI::ValidationError("--suffix", "not the end of a file name: " + text);
        }
        options->suffix = text;
      },
      "append S to the names of files, for example .png")
      ->excludes(raw);
  declare_list(app, "--part", "PATH", options->parts,
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
  return [options] { return options->is_raw ? copy_files(*options) : Cp(*options).run(); };
}

}  // namespace recordfs
