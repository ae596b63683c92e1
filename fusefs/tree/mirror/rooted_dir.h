// RootedDir: a local directory of the source, and access to what is below it and nothing else. DirectoryStream lists
// one.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "fusefs/tree/mirror/source_tree.h"

struct stat;

namespace recordfs {

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

// Access never follows a symbolic link, even if one is created meanwhile. It includes other filesystems that are
// mounted below, but not mounts of recordfs.
//
// Static functions do not call may_ask(), and may block.
class RootedDir final : public SourceTree {
 public:
  // Opens a directory for listing. Follows links in `path`, because the user has named it.
  static Result<std::shared_ptr<const RootedDir>> open(const std::string& path);

  const std::string& name() const override { return name_; }
  const FileState& state() const override { return directory_.state; }
  // Any filesystem mounted below the directory counts as one that may hang.
  std::uint64_t filesystem(std::uint64_t device) const override {
    return device == directory_.state.device ? filesystem_ : device;
  }

  Result<FileHandle> look(const RequestContext& context, const std::string& path) const override;
  Result<FileHandle> look_in(const RequestContext& context, const FileHandle& directory,
                             const std::string& name) const override;
  Result<std::unique_ptr<MirroredFile>> open(const RequestContext& context, const std::string& path,
                                             const FileState& state) const override;
  Result<std::shared_ptr<MirroredListing>> open_listing(const RequestContext& context,
                                                        const FileHandle& directory) const override;
  Result<std::string> target_of(const FileHandle& link) const override { return target(link); }
  void add_usage(const RequestContext& context, Usage& usage) const override;

  static Result<Descriptor> open_directory(const FileHandle& directory);
  static Result<Descriptor> open_file_in(int directory, const std::string& name);
  // Reads like MirroredFile::read().
  static Result<std::size_t> read_file(const Descriptor& file, std::uint64_t at, MutableBytes out);
  static Result<std::string> target(const FileHandle& link);

 private:
  RootedDir(std::string name, FileHandle directory);

  const std::string name_;
  const FileHandle directory_;
  const std::uint64_t filesystem_;  // 0: cannot hang
};

// An open local directory. Reads run one at a time. They may block on the filesystem and do not consult RequestContext.
class DirectoryStream final : public MirroredListing {
 public:
  // Fails as place_error() says.
  static Result<std::shared_ptr<DirectoryStream>> of(Descriptor directory);

  Result<void> read(const RequestContext& context, std::uint64_t place, const Take& take) override;

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
