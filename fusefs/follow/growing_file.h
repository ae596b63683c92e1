// A file that grows, as a series of snapshots (-o follow), and how to wait until it may have changed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/store/record_store.h"

namespace recordfs {

// Not thread-safe.
class GrowingFile {
 public:
  // Opens a file of any format. Messages name it `shown`, or its path if that is empty. Fails as FileSource::open and
  // open_container do. `services` must outlive the object and its stores.
  static Result<std::unique_ptr<GrowingFile>> open(const std::string& path, const Limits& limits,
                                                   StoreResources& services, const std::string& shown = {});
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // As given; as messages name it; and without directories.
  const std::string& path() const { return path_; }
  const std::string& shown() const { return shown_; }
  const std::string& name() const { return name_; }
  const FileState& state() const { return file_->state(); }
  // The newest snapshot.
  const std::shared_ptr<const RecordStore>& store() const { return store_; }

  // Returns the next snapshot, which becomes store(), or null if there is none yet. If is_taking() is then true, `wake`
  // is called from another thread when it is worth calling again; sooner is harmless. Errors are permanent: kChanged if
  // the file was truncated or overwritten, kLimit if it grew too large, kUnsupported by its format, or as open().
  Result<std::shared_ptr<const RecordStore>> grow(const std::function<void()>& wake);
  bool is_taking() const { return next_ != nullptr; }

  // Returns whether its path still leads to the file (log rotation gives the path to another one).
  bool is_at_its_path() const;
  // Returns whether its path leads to another file.
  bool is_replaced() const;

 private:
  GrowingFile(const std::string& path, const Limits& limits, StoreResources& services, const std::string& shown);

  Result<void> take(const std::shared_ptr<const FileSource>& file);
  Result<std::shared_ptr<const RecordStore>> finish(const std::function<void()>& wake);

  const std::string path_;
  const std::string shown_;
  const std::string full_path_;  // absolute
  const std::string name_;
  const Limits limits_;
  StoreResources& services_;
  std::shared_ptr<const FileSource> file_;  // for the newest snapshot
  std::shared_ptr<const RecordStore> store_;
  std::shared_ptr<const FileSource> next_file_;  // for the next snapshot, which is being scanned
  std::shared_ptr<const RecordStore> next_;
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
