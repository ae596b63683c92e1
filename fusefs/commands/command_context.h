// CommandContext: what a command needs to find and read containers, its standard output, and its exit status.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/dataset/data_set.h"
#include "core/store/open_container.h"
#include "core/store/record_store.h"
#include "fusefs/commands/standard_input.h"
#include "fusefs/follow/growing_file.h"
#include "fusefs/terminal.h"

namespace CLI {
class App;
}

namespace recordfs {

// Writes all bytes. Returns 0, or errno.
int write_all(int descriptor, Bytes bytes);

// Standard output, or a file. Buffers small pieces, and writes large ones without a copy. After an error (a full disk,
// a closed pipe) it writes nothing more, so callers that write much check good(). Not thread-safe.
class Output {
 public:
  Output() = default;
  // `name` is that of the file in messages.
  Output(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Bytes bytes) {
    if (bytes.size() > buffer_.size() - gathered_) return write_beyond_buffer(bytes);
    copy_bytes(bytes, buffer_.span().subspan(gathered_));
    gathered_ += bytes.size();
  }
  void write(std::string_view text) { write(as_bytes(text)); }
  // Writes the buffer.
  void flush();
  bool good() const { return error_ == 0; }

  // Flushes, and prints the error if there was one other than EPIPE. Returns kExitGood or kExitPartlyDone.
  int finish();

 private:
  void write_beyond_buffer(Bytes bytes);
  void write_through(Bytes bytes);
  int descriptor() const { return file_ ? file_.number() : STDOUT_FILENO; }

  const Descriptor file_;  // none: standard output
  const std::string name_ = "standard output";
  Buffer buffer_;             // empty until the first use
  std::size_t gathered_ = 0;  // bytes of it that are not written yet
  int error_ = 0;             // errno
  // Whether it is a terminal that shows only ASCII, and so gets other bytes as "\xHH".
  const bool is_ascii_ = is_ascii_terminal(descriptor());
};

// The options of all commands that read containers.
struct ReadingOptions {
  Limits limits;
  std::uint64_t most_input = 16ull << 30;  // bytes of standard input
  std::string index = "auto";              // as for the mount
  unsigned threads = 0;                    // for decoding; 0: one per core
  database::Options database{};            // the limits are those above
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

// The state of a command's run. Not thread-safe, except note(), report(), print_failure(), fail() and print_once().
class CommandContext {
 public:
  // Confines the process (see confine_thread()) if the options are those of a command line. It then writes only to open
  // descriptors, to saved indexes, and below the directory `output` unless it is empty. A command that writes other
  // files opens them before. Without a `log`, warnings and errors go to stderr, without repetition. REQUIRES: the
  // process has one thread.
  explicit CommandContext(const ReadingOptions& options, const std::string& output = {});
  CommandContext(const ReadingOptions& options, Log log, const std::string& output = {});

  // Makes opening fail for containers whose records need a type that the user's types do not name. `types` must outlive
  // this.
  void decode_with(const UserTypes& types) { types_ = &types; }

  // Opens a file. `shown`: its path, or kStandardInput; errors name it so. Fails as open_file(), check_types() and
  // PipeInput::path(). Prints nothing. Thread-safe.
  Result<OpenedFile> open_quietly(const RequestContext& context, const std::string& shown);
  // Returns the path by which a file can be opened, which is another one for standard input and pipes. Fails as
  // PipeInput::path(). Thread-safe.
  Result<std::string> real_path(const std::string& path);

  // Opens a file. On failure prints an error, notes it for status(), and returns null. `skips_others`: does so silently
  // for a file that is not a container.
  std::shared_ptr<const RecordStore> open(const std::string& path, bool skips_others = false);

  // Returns how to open the shards of a data set, without a message. Valid as long as this.
  OpenShard opener();
  // Returns what saved indexes have of them.
  KnownCounts known_counts() const;

  // Opens a file that grows (see open()).
  std::unique_ptr<GrowingFile> open_followed(const std::string& path);

  // Standard output.
  Output& output() { return output_; }
  // Writes what is left of the output, and returns the exit status.
  int finish();

  // Adds an error to the exit status. The worst counts.
  void note(const Error& error);
  void note(int status);
  // Adds a damaged region to it. The stale end of a recycled log is not damage.
  void note(const DamagedRegion& region);
  // Logs a failed read of `store`, and notes it.
  void report(const RecordStore& store, const Error& error);

  // Prints no message about files that cannot be opened; they count in status().
  void hide_unopened() { hides_unopened_ = true; }
  // Makes status() kExitTryAgain after failures that may pass, for schedulers. With `skips_damage`, bytes that cannot
  // be read are skipped as damage; otherwise reading them may be retried.
  void distinguish_retries(bool skips_damage) {
    distinguishes_retries_ = true;
    services_.finds_unreadable =
        skips_damage ? StoreResources::FindsUnreadable::kAll : StoreResources::FindsUnreadable::kNone;
  }
  // Lists what is skipped, as lines of skipped_line(). Damage that is listed does not count in status(). `list` may be
  // null.
  void list_skipped_in(std::unique_ptr<Output> list) { skipped_ = std::move(list); }
  // Returns that list; null if there is none.
  Output* skipped() { return skipped_.get(); }
  // Logs why records of a chunk were skipped, and lists or notes it. `records`: how many; nullopt: unknown.
  void report_skipped(const std::string& path, const RecordStore& store, const Error& error, const ChunkInfo& chunk,
                      std::optional<std::uint64_t> records);

  // Prints why a file cannot be opened, and notes it.
  void print_unopened(const std::string& path, const Error& error);
  // Prints an error, unless the log has just printed the same line, and notes it.
  void print_failure(const std::string& path, const Error& error);
  // Prints a line, unless it equals the previous one, and notes the status.
  void fail(int status, const std::string& text);
  // Prints a line, unless it equals the previous one. For logs.
  void print_once(const std::string& line);

  int status() const { return status_; }
  const Limits& limits() const { return limits_; }
  const database::Options& database_options() const { return database_options_; }
  unsigned threads() const { return threads_; }
  StoreResources& services() { return services_; }

  // Returns the exit status for a failed read.
  static int status_of(const Error& error);

 private:
  void confine(const ReadingOptions& options, const std::string& output);

  const Limits limits_;
  const database::Options database_options_;
  const unsigned threads_;
  std::atomic<int> status_{0};
  bool distinguishes_retries_ = false;
  bool hides_unopened_ = false;
  const UserTypes* types_ = nullptr;  // may be null
  std::unique_ptr<Output> skipped_;   // null: there is no list
  std::mutex mutex_;
  std::string last_line_;  // guarded by mutex_
  StoreResources services_;
  const std::uint64_t most_input_;                           // bytes of a pipe
  std::map<std::string, std::unique_ptr<PipeInput>> pipes_;  // by path; guarded by mutex_
  Output output_;
};

struct ListedFile {
  std::string path;
  bool was_found = false;          // below a directory, not named itself
  std::optional<Error> failure{};  // why it, or the files below it, cannot be listed
};

// Calls `take` for each path, in order, until it returns false. If `descends`, replaces a directory by all regular
// files below it, sorted by name. Follows symbolic links on the command line only.
void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile file)>& take);

// Reads names that each end with a zero byte from a file; "-" is standard input. Fails with kIo.
Result<std::vector<std::string>> read_names(const std::string& path);

}  // namespace recordfs
