// FollowedFile: a file that is being written, as a row of snapshots of which each shows more.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/store/record_store.h"

namespace recordfs {

// One thread at a time.
class FollowedFile {
 public:
  // Opens a file of any format and reads its head. `services` has to outlive the object and its stores. Fails as
  // FileSource::open and open_container do.
  // Messages call it `shown`; empty: by its path.
  static Result<std::unique_ptr<FollowedFile>> open(const std::string& path, const Limits& limits, Services& services,
                                                    const std::string& shown = {});
  ~FollowedFile();
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  // As it was given; as messages call it; and without directories.
  const std::string& path() const { return path_; }
  const std::string& shown() const { return shown_; }
  const std::string& name() const { return name_; }
  const FileSource::Status& status() const { return file_->status(); }
  // The snapshot that shows most.
  const std::shared_ptr<const RecordStore>& store() const { return store_; }

  // Looks whether there is more to show. Returns the store that shows it, which is store() from then on. Null: there is
  // not, or not yet; where `is_taking()` then, `wake` is called from another thread when it is worth asking again, and
  // asking sooner costs nothing. Fails where no growth is to be shown any more, whatever follows: kChanged when the
  // file is no longer the one that was opened, kLimit when it grew too large, kUnsupported.
  Result<std::shared_ptr<const RecordStore>> grow(const std::function<void()>& wake);
  bool is_taking() const { return next_ != nullptr; }

  // Whether its path still leads to the file. Once it does not, it stays so: another file has taken the name.
  bool is_at_its_path() const;

 private:
  FollowedFile(const std::string& path, const Limits& limits, Services& services, const std::string& shown);

  Result<void> take(const std::shared_ptr<const FileSource>& file);
  Result<std::shared_ptr<const RecordStore>> finish(const std::function<void()>& wake);

  const std::string path_;
  const std::string shown_;
  const std::string full_path_;  // from the root
  const std::string name_;
  const Limits limits_;
  Services& services_;
  std::shared_ptr<const FileSource> file_;  // as it was looked at last
  std::shared_ptr<const RecordStore> store_;
  std::shared_ptr<const FileSource> next_file_;  // while the store catches up
  std::shared_ptr<const RecordStore> next_;
};

// How long to rest when looking at files has taken so long: few growths a second, and most of the time none.
std::chrono::milliseconds rest_after(std::chrono::steady_clock::duration look);

}  // namespace recordfs
