// RootedDir: a directory of the source, and access to what is below it and nothing else. DirectoryStream lists one.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/file_state.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

struct stat;

namespace recordfs {

// Converts the errno of a failed call on a path of the source. Returns kNotFound if the path does not exist without
// following links. Otherwise returns kIo with os_error.
Error place_error(int error_number);

// Returns the error for a node whose file is gone or has changed: kIo with ESTALE. The kernel then looks the path up
// again.
Error stale_error();

// Where recordfs itself is mounted. A mirror that read there could wait for its own answer, or for that of a mirror
// that waits for it. Thread-safe.
class RecordfsMounts {
 public:
  // Returns the object of this process. The first call opens the mount table, which a confined process cannot do.
  static const RecordfsMounts& of_process();

  // Returns whether the device, as in st_dev, is a mount of recordfs that this process can see. Reads the mount table
  // again if it has changed. Returns true for any device if there is no table.
  bool contains(std::uint64_t device) const;

 private:
  RecordfsMounts();

  bool has_changed() const;
  void read() const;

  mutable std::mutex mutex_;
  mutable bool was_read_ = false;
  Descriptor table_;
  mutable std::set<std::uint64_t> devices_;
};

// A file of any type that was found, but not opened for reading.
struct FileHandle {
  Descriptor descriptor;     // opened with O_PATH, except for the directory itself
  FileState state;           // of a mount of recordfs: only the device
  bool is_recordfs = false;  // a mount of recordfs, which must not be accessed
};

// Access never follows a symbolic link, even if one is created meanwhile. It includes other filesystems that are
// mounted below, but not mounts of recordfs.
//
// Paths are relative to the directory and may have any length. "" is the directory itself. Thread-safe. Functions fail
// as place_error() says. Those that are not static also fail as may_ask() does, before they access a filesystem. Static
// functions do not check, and may block.
class RootedDir {
 public:
  // Opens a directory for listing. Follows links in `path`, because the user has named it.
  static Result<std::shared_ptr<const RootedDir>> open(const std::string& path);

  // Returns the path that open() was given.
  const std::string& name() const { return name_; }
  // Returns the directory's state when it was opened.
  const FileState& state() const { return directory_.state; }

  // Returns the filesystem of a device, as Source::filesystem() does: 0 if it cannot hang. Any filesystem mounted below
  // the directory counts as one that may hang.
  std::uint64_t filesystem(std::uint64_t device) const {
    return device == directory_.state.device ? filesystem_ : device;
  }
  // Succeeds if the request may wait for that device's filesystem. Fails as RequestContext::permit_wait_for()
  // does.
  Result<void> may_ask(const RequestContext& context, std::uint64_t device) const;

  Result<FileHandle> look(const RequestContext& context, const std::string& path) const;
  // `name` is one component. Fails with kNotFound for "." and "..".
  Result<FileHandle> look_in(const RequestContext& context, const FileHandle& directory, const std::string& name) const;

  static Result<Descriptor> open_directory(const FileHandle& directory);
  // Opens a regular file for reading. Fails with kNotFound for any other type of file, without waiting for it. `device`
  // is the file's device when it was looked up.
  Result<Descriptor> open_file(const RequestContext& context, const std::string& path, std::uint64_t device) const;
  static Result<Descriptor> open_file_in(int directory, const std::string& name);
  // Reads until `out` is full or the file ends. Returns how many bytes.
  static Result<std::size_t> read_file(const Descriptor& file, std::uint64_t at, MutableBytes out);
  static Result<std::string> target(const FileHandle& link);

 private:
  RootedDir(std::string name, FileHandle directory);

  const std::string name_;
  const FileHandle directory_;
  const std::uint64_t filesystem_;  // 0: cannot hang
};

// An open directory of the source, readable from any place.
//
// Thread-safe; reads run one at a time. The memory held does not depend on the directory's size. Functions may block on
// the filesystem and do not consult RequestContext.
class DirectoryStream {
 public:
  // Fails as place_error() says.
  static Result<std::shared_ptr<DirectoryStream>> of(Descriptor directory);

  struct Name {
    std::string_view name;
    unsigned char type = DT_UNKNOWN;
    std::uint64_t next = 0;  // the place after this entry, as the source's filesystem counts
  };
  // Calls `take` for each name from `place` on, with "." and "..", until it returns false. That name is then not taken,
  // and the next read may start with it. `place` is 0 or a `next` of this directory, also from another stream of it.
  // Starting at 0 shows changes since the stream was opened. Fails as place_error() says.
  Result<void> read(std::uint64_t place, const std::function<bool(int directory, const Name&)>& take);

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  using Stream = std::unique_ptr<DIR, Close>;
  explicit DirectoryStream(Stream stream) : stream_(std::move(stream)) {}

  std::mutex mutex_;  // guards the following
  const Stream stream_;
  const dirent* entry_ = nullptr;  // read but not taken
  std::uint64_t place_ = 0;
};

}  // namespace recordfs
