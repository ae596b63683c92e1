#include "fusefs/commands/command_context.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/location.h"
#include "core/base/sandbox.h"
#include "core/dataset/manifest.h"
#include "core/dataset/saved_counts.h"
#include "core/dataset/shard_versions.h"
#include "core/decoding/chunk_metadata.h"
#include "core/decoding/record_decoder.h"
#include "core/remote/session.h"
#include "core/search/known_fields.h"
#include "core/store/saved_index.h"
#include "core/verify/verification.h"
#include "fusefs/commands/command.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kCacheBytes = 64u << 20;
constexpr std::uint64_t kLongestTimeout = 86400;  // seconds

}  // namespace

void ReadingOptions::declare(CLI::App& app) {
  declared_on = &app;
  begin_group(app, "General");
  declare_size(
      app, "--max-chunk", 1, [this](std::uint64_t size) { limits = limits_for_chunks_of(size); },
      "largest chunk read (default 256M stored, 1G decoded)\n"
      "SIZE limits the chunk as stored and as decoded. Same as the mount option `max_chunk`. A command also stops "
      "before a chunk if what precedes it decodes to more than 3 GiB and 2,000 times the file's size; a SIZE above "
      "1G raises the 3 GiB in proportion.");
  declare_size(
      app, "--max-input", 0, [this](std::uint64_t size) { most_input = size; },
      "most of a pipe that is saved for FILE - or <(...) (default 16G)\n"
      "To read it at any position, it is saved in a file without a name in `TMPDIR`, or in /tmp.");
  declare_value(app, "--index", "WHERE", index,
                "where to save indexes: auto, no, or a directory; or a FILE.rfsindex to use\n"
                "Indexes are saved of files whose scan takes long. Same as the mount option `index`.");
  declare_value(
      app, "-j,--threads", "N",
      [this](const std::string& text) { threads = static_cast<unsigned>(number_of("--threads", text, kMostThreads)); },
      "threads that decode (default: one per processor)\n"
      "At most 1024.");
  const auto changed = [this] { remote::Session::set_options(remote); };
  declare_value(
      app, "--timeout", "SECONDS",
      [this, changed](const std::string& text) {
        remote.timeout =
            std::chrono::seconds(std::max<std::uint64_t>(number_of("--timeout", text, kLongestTimeout), 1));
        changed();
      },
      "of a request to a server, with its retries (default 60)");
  declare_value(
      app, "--remote-scan", "WHEN",
      [this](const std::string& text) {
        const auto most = parse_remote_scan(text);
        if (!most) throw CLI::ValidationError("--remote-scan", "neither auto, never, nor a size: " + text);
        remote_scan = *most;
      },
      "scan remote files: auto, never, or up to SIZE bytes (default auto)\n"
      "Some formats say only in the header of a record where the next one is. To count the records, or to find one, "
      "all headers before it are read, and with small records that is the whole file. `recordfs index` saves the "
      "result. Same as the mount option `remote_scan`.");
  app.add_flag_callback(
      "--no-sign-request",
      [this, changed] {
        remote.sign = false;
        changed();
      },
      "send no credentials, for public buckets");
  declare_size(
      app, "--cache-size", 1,
      [this, changed](std::uint64_t size) {
        remote.disk_bytes = size;
        changed();
      },
      "most of what is kept of remote files on the disk (default 2G)\n"
      "It is kept in `~/.cache/recordfs/blocks`, or in `$XDG_CACHE_HOME/recordfs/blocks` if that variable is set.");
  app.add_flag_callback(
      "--no-cache",
      [this, changed] {
        remote.uses_disk = false;
        changed();
      },
      "keep nothing of remote files on the disk");
}

void ReadingOptions::declare_database(CLI::App& app) {
  declare_value(app, "--wal-dir", "DIR", database.wal_directory,
                "the directory of the write-ahead logs (RocksDB's wal_dir)\n"
                "Without it, the logs are in the database's directory or in the one that its OPTIONS file names.");
  declare_list(app, "--db-path", "DIR", database.table_directories,
               "a further directory with tables and blob files (RocksDB's db_paths)\n"
               "May be given several times. A file in the database's directory has priority.");
}

database::Options ReadingOptions::database_options() const {
  database::Options options = database;
  options.limits = limits;
  if (!options.wal_directory.empty()) options.wal_directory = Location(options.wal_directory).absolute().text();
  for (std::string& directory : options.table_directories) directory = Location(directory).absolute().text();
  return options;
}

std::vector<std::string> ReadingOptions::pipes() const {
  std::vector<std::string> found;
  bool has_word = false;
  for (const CLI::Option* option :
       declared_on->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    for (const std::string& word : option->results()) {
      has_word = has_word || option->get_name() == "FILE";
      if (is_pipe(word)) found.push_back(word);
    }
  }
  if (!has_word) found.emplace_back(kStandardInput);  // which is grep's default
  return found;
}

CommandContext::CommandContext(const ReadingOptions& options, const std::vector<std::string>& outputs)
    : CommandContext(
          options,
          [this](Severity severity, const std::string& line) {
            if (severity > Severity::kInfo) print_once(line);
          },
          outputs) {}

CommandContext::CommandContext(const ReadingOptions& options, Log log, const std::vector<std::string>& outputs)
    : limits_(options.limits),
      database_options_(options.database_options()),
      threads_(options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1u)),
      services_(kCacheBytes, executor_threads(), std::move(log)),
      most_input_(options.most_input) {
  services_.limits = limits_;
  services_.finds_unreadable = StoreResources::FindsUnreadable::kAll;
  services_.reports_ahead = false;  // what a command prints must not depend on how far a scan has come
  services_.remote_scans = {.most = options.remote_scan, .advice = " (try: --remote-scan=auto)"};
  auto place = index_place(options.index, options.limits);
  if (place) {
    services_.index = std::move(*place);
  } else {
    fail(kExitPartlyDone, fmt::format("--index={}: {}", options.index, place.error().detail));
  }
  if (options.declared_on != nullptr) confine(options, outputs);
}

// A local manifest may name remote files.
void CommandContext::prepare_remote(const ReadingOptions& options) {
  for (const CLI::Option* const option : options.declared_on->get_options()) {
    const bool is_manifest = option->check_lname("manifest");
    if (!is_manifest && !option->get_positional()) continue;
    for (const std::string& word : option->results()) {
      static_cast<void>(Location(word));
      if (!is_manifest) continue;
      if (word == kStandardInput) {
        static_cast<void>(remote::Session::of_process().fetcher());
      } else {
        static_cast<void>(read_manifest(word));
      }
    }
  }
  prepare_storages();
}

void CommandContext::confine(const ReadingOptions& options, const std::vector<std::string>& outputs) {
  prepare_remote(options);
  for (const std::string& path : options.pipes()) {
    auto& pipe = pipes_[path];
    if (pipe) continue;
    pipe = std::make_unique<PipeInput>(path, most_input_);
    pipe->make_room();
  }
  std::vector<std::string> writable;
  if (services_.index && !services_.index->directory.empty()) {
    make_directory(*services_.index);
    writable.push_back(services_.index->directory);
  }
  std::ranges::copy_if(outputs, std::back_inserter(writable), [](const std::string& path) { return !path.empty(); });
  confine_thread(writable);
  const std::string name = options.declared_on->get_name();  // "recordfs cat"
  remote_progress_.start(name.substr(name.rfind(' ') + 1));
}

void CommandContext::check_metadata(const RequestContext& context, const std::string& shown, const RecordStore& store) {
  const auto checked = recordfs::check_metadata(context, store.metadata());
  if (checked) return;
  std::unique_lock lock(mutex_);
  if (!without_metadata_.insert(shown).second) return;
  lock.unlock();
  report_failure(shown, checked.error());
}

Result<OpenedFile> CommandContext::open_quietly(const RequestContext& context, const std::string& shown) {
  ASSIGN_OR_RETURN(const auto path, real_path(shown));
  auto opened = open_file(context, path, limits_, services_, shown);
  if (opened && types_ != nullptr) {
    if (auto checked = check_types(*types_, opened->store->schema(), opened->store->metadata()); !checked) {
      Error why = std::move(checked).error();
      if (why.code == Code::kNotFound) why.detail += " (try: --type)";
      return why;
    }
    if (!has_checked_fields_.exchange(true)) {
      const auto checked = check_known_fields(context, *opened->store, *types_);
      if (!checked) fail(impact_of(checked.error()), fmt::format("{}: {}", shown, checked.error().detail));
    }
  }
  if (opened && requires_metadata_) check_metadata(context, shown, *opened->store);
  return opened;
}

Result<std::string> CommandContext::real_path(const std::string& path) {
  if (!is_pipe(path)) return path;
  std::unique_lock lock(mutex_);
  auto& pipe = pipes_[path];
  if (!pipe) pipe = std::make_unique<PipeInput>(path, most_input_);
  lock.unlock();
  return pipe->path();
}

std::shared_ptr<const RecordStore> CommandContext::open(const std::string& path, bool skips_others) {
  auto opened = open_quietly({}, path);
  if (opened) return std::move(opened->store);
  const bool is_other = skips_others && opened.error().code == Code::kNoContainer && !should_be_container(path);
  if (!is_other) report_unopened(path, opened.error());
  return nullptr;
}

// Ordinals were counted in the version that was opened first.
Result<void> CommandContext::check_version(const std::string& path, const std::string& version) {
  const std::lock_guard lock(mutex_);
  return recordfs::check_version(versions_, path, version);
}

OpenShard CommandContext::opener() {
  return [this](const RequestContext& context, std::size_t,
                const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
    ASSIGN_OR_RETURN(auto opened, open_quietly(context, shard.path));
    if (const auto id = opened.store->source().id()) TRY(check_version(shard.path, id->version));
    return std::move(opened.store);
  };
}

KnownCounts CommandContext::known_counts() {
  return [this](const RequestContext& context, std::size_t, const Shard& shard, ScanDetail detail) {
    return saved_counts(context, services_, shard.path, detail,
                        [&](const SourceId& id) { return check_version(shard.path, id.version).has_value(); });
  };
}

int CommandContext::finish() {
  note(output_.finish());
  if (skipped() != nullptr) note(skipped()->finish());
  return status();
}

void CommandContext::report(const RecordStore& store, const Error& error) {
  store.log().report({}, error);
  note(error);
}

void CommandContext::report_skipped(const std::string& path, const RecordStore& store, const Error& error,
                                    const ChunkInfo& chunk, std::optional<std::uint64_t> records) {
  add_loss(records);
  if (skipped() == nullptr || !is_permanent(error.code)) return report(store, error);
  store.log().report({}, error);
  skipped()->write(skipped_line(path, finding_of(error, chunk, records)));
  if (impact_of(error) != Impact::kDamage) note(error);
}

bool CommandContext::goes_on() const { return !Interruption::came(); }

void CommandContext::report_region(const std::string& path, const RecordStore& store, const DamagedRegion& region,
                                   bool is_known) {
  if (region.damage_class == DamageClass::kStale) return;
  add_loss(region.records_lost, region.least_lost);
  if (skipped() != nullptr) skipped()->write(skipped_line(path, finding_of(region)));
  if (region.damage_class != DamageClass::kUnfinished) return store.log().report(region);
  // Printed here, because the log leaves unfinished ends out, but they set the exit status.
  if (!is_known) print_once(fmt::format("{}: {}", path, damage_line(region)));
}

}  // namespace recordfs
