// CommandContext: what a command needs to find and read containers.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/dataset/data_set.h"
#include "core/dataset/pipe_input.h"
#include "core/remote/session.h"
#include "core/store/open_container.h"
#include "core/store/record_store.h"
#include "fusefs/commands/command_status.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/remote_progress.h"

namespace CLI {
class App;
}

namespace recordfs {

// The options of all commands that read containers.
struct ReadingOptions {
  Limits limits;
  std::uint64_t most_input = 16ull << 30;  // bytes of standard input
  std::string index = "auto";              // as for the mount
  unsigned threads = 0;                    // for decoding; 0: one per core
  database::Options database{};            // the limits are those above
  remote::Options remote{};
  std::uint64_t remote_scan = UINT64_MAX;  // most bytes that a scan requests from a server
  const CLI::App* declared_on = nullptr;   // that declare() was called with

  // Declares the options on `app`, which must outlive commands that run. The object must outlive the parsing.
  void declare(CLI::App& app);
  // Declares the options that say where the files of a database are, in the present group.
  void declare_database(CLI::App& app);
  // Returns the words of the command line that name pipes, or standard input.
  std::vector<std::string> pipes() const;
  // Returns how to open a database.
  database::Options database_options() const;
};

// The state of a command's run: how it opens files, what it found, and what it writes to. Not thread-safe, except what
// a CommandStatus permits, open_quietly(), real_path() and report().
class CommandContext : public CommandStatus {
 public:
  // Confines the process (see confine_thread()) if the options are those of a command line. It then writes only to open
  // descriptors, to saved indexes, and below the directories `outputs`, of which empty ones mean nothing. A command
  // that writes other files opens them before. Without a `log`, warnings and errors go to stderr, without repetition.
  // REQUIRES: the process has one thread.
  explicit CommandContext(const ReadingOptions& options, const std::vector<std::string>& outputs = {});
  CommandContext(const ReadingOptions& options, Log log, const std::vector<std::string>& outputs = {});

  // Makes opening fail for containers whose records need a type that the user's types do not name. Of the first
  // container that is opened, check_known_fields() is printed and noted. `types` must outlive this.
  void decode_with(const UserTypes& types) { types_ = &types; }
  // Makes opening report and note metadata that is damaged, as damage of the container, because the types of records
  // are in it, or because it is copied.
  void require_metadata() { requires_metadata_ = true; }

  // Opens a file. `shown`: its path, or kStandardInput; errors name it so. Fails as open_file(), check_types() and
  // PipeInput::path(), which it does not print. Thread-safe.
  Result<OpenedFile> open_quietly(const RequestContext& context, const std::string& shown);
  // Returns the path by which a file can be opened, which is another one for standard input and pipes. Fails as
  // PipeInput::path(). Thread-safe.
  Result<std::string> real_path(const std::string& path);

  // Opens a file. On failure prints an error, notes it for status(), and returns null. `skips_others`: does so silently
  // for a file that is not a container, unless should_be_container().
  std::shared_ptr<const RecordStore> open(const std::string& path, bool skips_others = false);

  // Returns how to open the shards of a data set, without a message. Fails with kChanged if a shard that was opened or
  // counted before has changed since. Valid as long as this.
  OpenShard opener();
  // Returns what saved indexes have of them.
  KnownCounts known_counts();

  // Standard output.
  Output& output() { return output_; }
  // Writes what is left of the output, and returns the exit status.
  int finish();

  bool goes_on() const override;  // no signal came: Interruption
  // Log what failed, or list what is skipped.
  void report(const RecordStore& store, const Error& error) override;

  // Makes status() kExitTryAgain after failures that may pass, for schedulers. With `skips_damage`, bytes that cannot
  // be read are skipped as damage; otherwise reading them may be retried.
  void distinguish_retries(bool skips_damage) {
    CommandStatus::distinguish_retries();
    services_.finds_unreadable =
        skips_damage ? StoreResources::FindsUnreadable::kAll : StoreResources::FindsUnreadable::kNone;
  }
  void report_skipped(const std::string& path, const RecordStore& store, const Error& error, const ChunkInfo& chunk,
                      std::optional<std::uint64_t> records) override;
  void report_region(const std::string& path, const RecordStore& store, const DamagedRegion& region,
                     bool is_known) override;

  const Limits& limits() const { return limits_; }
  const database::Options& database_options() const { return database_options_; }
  unsigned threads() const override { return threads_; }
  StoreResources& services() { return services_; }

 private:
  static void prepare_remote(const ReadingOptions& options);
  void confine(const ReadingOptions& options, const std::vector<std::string>& outputs);
  void check_metadata(const RequestContext& context, const std::string& shown, const RecordStore& store);

  const Limits limits_;
  const database::Options database_options_;
  const unsigned threads_;
  const UserTypes* types_ = nullptr;  // may be null
  std::atomic<bool> has_checked_fields_{false};
  bool requires_metadata_ = false;
  Result<void> check_version(const std::string& path, const std::string& version);

  std::mutex mutex_;
  std::set<std::string> without_metadata_;  // files whose metadata was reported as damaged; guarded by mutex_
  StoreResources services_;
  const std::uint64_t most_input_;                           // bytes of a pipe
  std::map<std::string, std::unique_ptr<PipeInput>> pipes_;  // by path; guarded by mutex_
  std::map<std::string, std::string> versions_;              // of shards that were opened, by path; guarded by mutex_
  Output output_;
  RemoteProgress remote_progress_;
};

}  // namespace recordfs
