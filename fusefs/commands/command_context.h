// CommandContext: what a command needs to read containers, and what was found wrong while it did.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/limits.h"
#include "core/store/record_store.h"
#include "fusefs/follow/followed_file.h"
#include "fusefs/open_container.h"

namespace CLI {
class App;
}

namespace recordfs {

// The options that all commands have that read containers.
struct ReadingOptions {
  Limits limits;
  std::string index = "auto";  // as of the mount
  unsigned threads = 0;        // that decode; 0: as many as there are cores

  // Declares them on `app`; the object has to outlive its parsing.
  void declare(CLI::App& app);
};

// One for a run of the program. Its log goes to stderr where nothing else is said: what is damaged is a line there,
// once.
class CommandContext {
 public:
  explicit CommandContext(const ReadingOptions& options);
  // With another log.
  CommandContext(const ReadingOptions& options, Log log);

  // Opens a file; what is wrong is said on stderr, and kept for status(). Null where it can't be opened.
  std::shared_ptr<const RecordStore> open(const std::string& path);
  // The same, but a file that is no container is passed by without words.
  std::shared_ptr<const RecordStore> open_if_container(const std::string& path);

  // The same for a file that grows; `path` may be anything that open() takes.
  std::unique_ptr<FollowedFile> open_followed(const std::string& path);

  // Keeps what an error means for the exit status. Any thread.
  void note(const Error& error) { note(status_of(error)); }
  void note(int status);
  // The same for a region that a scan found unsound: the stale end of a recycled log is no damage.
  void note(const DamagedRegion& region);
  // Says an error on stderr unless the log has just done so, and notes it. Any thread.
  void print_failure(const std::string& path, const Error& error);
  // Says a line on stderr unless it is the same as the one before. For logs. Any thread.
  void say_once(const std::string& line);

  int status() const { return status_; }
  unsigned threads() const { return threads_; }
  Services& services() { return services_; }

  // What a failure to read means for the exit status.
  static int status_of(const Error& error);

 private:
  std::shared_ptr<const RecordStore> say_unopened(const std::string& path, const Error& error);

  const Limits limits_;
  const unsigned threads_;
  std::atomic<int> status_{0};
  std::mutex mutex_;
  std::string last_line_;  // guarded by mutex_
  Services services_;
};

}  // namespace recordfs
