// SourceTree: a directory that a mirror shows, and access to what is below it, wherever it is stored.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/file_state.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "fusefs/tree/file_status.h"

namespace recordfs {

// Converts the errno of a failed call on a path of the source. Returns kNotFound if the path does not exist without
// following links. Otherwise returns kIo with os_error.
Error place_error(int error_number);

// Returns the error for a node whose file is gone or has changed: kIo with ESTALE. The kernel then looks the path up
// again.
Error stale_error();

// Returns whether a format recognizes the first bytes of a source. Fails only as Source does.
using ProbeHead =
    std::function<Result<bool>(const RequestContext& context, const Source& source, std::string_view file_name)>;

// A file of any type that was found, but not opened for reading.
struct FileHandle {
  Descriptor descriptor;               // of a local file: opened with O_PATH, except for the directory itself
  FileState state;                     // of a mount of recordfs: only the device
  bool is_recordfs = false;            // a mount of recordfs, which must not be accessed
  std::optional<bool> is_container{};  // of a regular file; nullopt: its head tells
  std::string path{};                  // below the directory, if there is no descriptor
};

// A regular file that is open. Thread-safe.
class MirroredFile {
 public:
  MirroredFile() = default;
  virtual ~MirroredFile() = default;
  MirroredFile(const MirroredFile&) = delete;
  MirroredFile& operator=(const MirroredFile&) = delete;

  // Returns the present state of the file, which may be another one than at its opening.
  virtual Result<FileState> state() const = 0;
  // Reads until `out` is full or the file ends. Returns how many bytes.
  virtual Result<std::size_t> read(const RequestContext& context, std::uint64_t at, MutableBytes out) const = 0;
  // Returns the source that a container in the file is read from. `name` is Source::name(). Call it once, and nothing
  // else afterwards.
  virtual Result<std::shared_ptr<const Source>> source(std::string name) = 0;
};

// An opened directory, readable from any place. Thread-safe; the memory held does not depend on the directory's size.
class MirroredListing {
 public:
  struct Name {
    std::string_view name;
    unsigned char type = DT_UNKNOWN;
    std::uint64_t next = 0;              // the place after this entry, as the source counts
    std::optional<bool> is_container{};  // of a regular file, if it is known
    int directory = -1;                  // a descriptor in which the name can be examined; -1: none
  };
  // Returns false to stop. That name is then not taken, and the next read may start with it.
  using Take = std::function<bool(const Name& name)>;

  MirroredListing() = default;
  virtual ~MirroredListing() = default;
  MirroredListing(const MirroredListing&) = delete;
  MirroredListing& operator=(const MirroredListing&) = delete;

  // Calls `take` for each name from `place` on. `place` is 0 or a `next` of this directory, also from another opening
  // of it. Starting at 0 shows changes. Names may include "." and "..".
  virtual Result<void> read(const RequestContext& context, std::uint64_t place, const Take& take) = 0;
};

// Paths are relative to the directory and may have any length. "" is the directory itself. Thread-safe. Functions fail
// as place_error() says, and as may_ask() does, before they access the source's filesystem.
class SourceTree {
 public:
  SourceTree() = default;
  virtual ~SourceTree() = default;
  SourceTree(const SourceTree&) = delete;
  SourceTree& operator=(const SourceTree&) = delete;

  // Returns what the user has named.
  virtual const std::string& name() const = 0;
  // Returns the directory's state when it was opened.
  virtual const FileState& state() const = 0;
  // Returns the filesystem of a device, as Source::filesystem() does: 0 if it cannot hang.
  virtual std::uint64_t filesystem(std::uint64_t device) const = 0;
  // Succeeds if the request may wait for that device's filesystem. Fails as RequestContext::permit_wait_for() does.
  Result<void> may_ask(const RequestContext& context, std::uint64_t device) const {
    return context.permit_wait_for(filesystem(device));
  }

  virtual Result<FileHandle> look(const RequestContext& context, const std::string& path) const = 0;
  // `name` is one component. Fails with kNotFound for "." and "..".
  virtual Result<FileHandle> look_in(const RequestContext& context, const FileHandle& directory,
                                     const std::string& name) const = 0;
  // Opens a regular file for reading. Fails with kNotFound for any other type of file, without waiting for it. `state`
  // is the file's state when it was looked up.
  virtual Result<std::unique_ptr<MirroredFile>> open(const RequestContext& context, const std::string& path,
                                                     const FileState& state) const = 0;
  virtual Result<std::shared_ptr<MirroredListing>> open_listing(const RequestContext& context,
                                                                const FileHandle& directory) const = 0;
  virtual Result<std::string> target_of(const FileHandle& link) const = 0;
  // Adds bytes and files in use on the directory's filesystem, if it tells.
  virtual void add_usage(const RequestContext& context, Usage& usage) const = 0;
};

}  // namespace recordfs
