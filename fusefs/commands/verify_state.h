// VerifyState: remembers between runs which files have passed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs {

// Identifies a file and its version, by its metadata.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_seconds = 0;
  std::int64_t mtime_nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of the file at `path`, or nullopt if there is none.
std::optional<FileStamp> stamp_of(const std::string& path);
FileStamp stamp_of(const FileSource::Status& status, std::uint64_t size);

// When a file passed, in seconds since 1970.
struct Passed {
  FileStamp file;
  std::int64_t when = 0;
  bool is_container = true;  // false: no format recognizes it
};

// Stores absolute paths, so it does not depend on the current directory. Thread-safe.
class VerifyState {
 public:
  // Reads the state of an earlier run. A missing or empty file is an empty state. So is a broken one, or one of other
  // checks, and `remark` then says so. Fails with kNoContainer for any other file, which must not be overwritten, and
  // with kIo.
  static Result<std::unique_ptr<VerifyState>> read(const std::string& path, std::string& remark);

  // Returns how a file passed, or nullopt if it has changed or never passed.
  std::optional<Passed> find(const std::string& path, const FileStamp& now) const;
  void set(const std::string& path, const Passed& passed);
  void remove(const std::string& path);

  // Replaces the file with the current state, without files that no longer exist. Fails with kIo.
  Result<void> save();

 private:
  explicit VerifyState(std::string path) : path_(std::move(path)) {}
  std::string encode() const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, Passed> passed_;  // by absolute path
};

}  // namespace recordfs
