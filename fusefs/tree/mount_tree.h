// The tree of a whole mount: one container as the root itself, or a directory for each of several.
// Speaks in inode numbers, as the kernel does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "fusefs/tree/container_tree.h"

namespace recordfs {

// Who owns the nodes of a container, and what they may do.
struct Ownership {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t file_mode = 0400;       // permission bits
  mode_t directory_mode = 0500;  // the same with x where there is r
  timespec modified{};
};

// The owner and read bits of the source (DESIGN §1 rule 6).
Ownership ownership_of(const FileSource::Status& status);

struct MountedContainer {
  std::string name;  // of its directory, where there are several
  std::shared_ptr<const RecordStore> store;
  Ownership ownership;
};

struct FileStatus {
  std::uint64_t number = 0;
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;
  const Ownership* ownership = nullptr;
};

struct MountEntry {
  std::string_view name;
  std::uint64_t number = 0;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size{};
  std::uint64_t next = 0;
  const Ownership* ownership = nullptr;
};

// Immutable; any thread. Functions with a Goal can answer kPending, as ContainerTree's do; a number that
// names nothing is kNotFound.
class MountTree {
 public:
  static constexpr std::uint64_t kRootNumber = 1;

  // `nested`: a directory for the container even when there is only one. Equal names get "~2", "~3".
  MountTree(std::vector<MountedContainer> containers, bool nested);

  Result<std::uint64_t> lookup(std::uint64_t directory, std::string_view name, Goal& goal) const;
  Result<FileStatus> status(std::uint64_t number, Goal& goal) const;
  // Without "." and "..".
  Result<void> list(std::uint64_t directory, std::uint64_t place, const std::function<bool(const MountEntry&)>& emit,
                    Goal& goal) const;
  std::uint64_t parent(std::uint64_t directory) const;
  Result<std::string> target(std::uint64_t link) const;
  Result<Slice> read(std::uint64_t file, std::uint64_t offset, std::uint64_t length, Goal& goal) const;

  // How many records the containers are known to hold so far, for statfs.
  std::uint64_t known_records() const;
  // Size of the sources together, for statfs.
  std::uint64_t total_size() const;

 private:
  struct Mounted {
    std::string name;
    Ownership ownership;
    std::unique_ptr<ContainerTree> tree;
  };
  struct Found {
    const Mounted* mounted;
    std::size_t index;
    Node node;
  };

  bool is_own_root(std::uint64_t number) const { return nested_ && number == kRootNumber; }
  Result<Found> find(std::uint64_t number) const;

  const bool nested_;
  std::vector<Mounted> mounted_;
  Numbering numbering_;
};

}  // namespace recordfs
