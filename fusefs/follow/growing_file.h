// A file that grows, as a series of snapshots (-o follow), and how to wait until it may have changed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/limits.h"
#include "core/base/storage.h"
#include "core/store/record_store.h"

namespace recordfs {

// Not thread-safe.
class GrowingFile {
 public:
  // Opens a file of any format. Messages name it `shown`, or as its location if that is empty. Fails as Storage::open()
  // and open_container do. `services` must outlive the object and its stores.
  static Result<std::unique_ptr<GrowingFile>> open(const Location& location, const Limits& limits,
                                                   StoreResources& services, const std::string& shown = {});
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Its absolute location; as messages name it; and without directories.
  const std::string& path() const { return location_.text(); }
  const std::string& shown() const { return shown_; }
  std::string name() const { return std::string(file_->name()); }
  const Source& file() const { return *file_; }
  // The newest snapshot.
  const std::shared_ptr<const RecordStore>& store() const { return store_; }

  // Returns the next snapshot, which becomes store(), or null if there is none yet. If is_taking() is then true, `wake`
  // is called from another thread when it is worth calling again; sooner is harmless. Errors are permanent: kChanged if
  // the file was truncated or overwritten, kLimit if it grew too large, kUnsupported by its format, or as open().
  Result<std::shared_ptr<const RecordStore>> grow(const std::function<void()>& wake);
  bool is_taking() const { return next_ != nullptr; }

  // Returns whether its path still leads to the file (log rotation gives the path to another one).
  bool is_at_its_path() const { return is_known_as_present().value_or(false); }
  // Returns whether its path leads to another file.
  bool is_replaced() const { return !is_known_as_present().value_or(true); }

 private:
  GrowingFile(const Location& location, const Limits& limits, StoreResources& services, const std::string& shown);

  // Returns whether the file that its path leads to now is this one; nullopt if there is none.
  std::optional<bool> is_known_as_present() const;
  Result<void> take(std::shared_ptr<const Source> file);
  Result<std::shared_ptr<const RecordStore>> finish(const std::function<void()>& wake);

  const Location location_;  // absolute
  const std::string shown_;
  const Limits limits_;
  StoreResources& services_;
  std::shared_ptr<const Source> file_;  // for the newest snapshot
  std::shared_ptr<const RecordStore> store_;
  std::shared_ptr<const Source> next_file_;  // for the next snapshot, which is being scanned
  std::shared_ptr<const RecordStore> next_;
  std::shared_ptr<std::atomic<bool>> has_advanced_;  // set with `wake`; null: the scan of next_ has no waiter
};

// Returns how long to rest after a check that took `look`: nine times as long, and at least 250 ms.
std::chrono::milliseconds rest_after(std::chrono::steady_clock::duration look);

// Waits until one of several files may have changed, or until a file may have appeared or been written in a directory.
// One thread waits; any thread may call wake() and stop(). The process may fork after construction.
class FileWatch {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Works without inotify, or without enough watches: wait() then returns after kPoll. `paths`: files and directories.
  explicit FileWatch(const std::vector<std::string>& paths);

  // Returns when something may have changed, after kPoll, or after wake() or stop(). A wake() before the call counts.
  void wait();
  // Also returns when the reader of `output`, a pipe or socket, has gone. Returns false then.
  bool wait(int output);
  // Sleeps. Only stop() ends it early.
  void rest(Milliseconds time);

  void wake();
  void stop();
  bool is_stopped() const;

  static constexpr Milliseconds kPoll{1000};

 private:
  Descriptor changes_;  // inotify
  Descriptor wakes_;
  Descriptor stops_;
};

}  // namespace recordfs
