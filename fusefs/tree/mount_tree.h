// The tree of a whole mount: one container as the root itself, or a directory for each of several.
// Speaks in numbers of nodes, as the kernel does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/known_records.h"

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
  std::uint64_t inode = 0;  // what stat() shows: the number, but for parts of records
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;
  const Ownership* ownership = nullptr;
};

struct MountEntry {
  std::string_view name;
  std::uint64_t inode = 0;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size{};
  std::uint64_t next = 0;
  const Ownership* ownership = nullptr;
  std::size_t container = 0;  // the following for MountTree::look_up
  Node node{};
};

// Any thread. Functions with a Goal can answer kPending, as ContainerTree's do; a number that names nothing is
// kNotFound.
//
// A number of a part of a record is good until it has been forgotten as often as lookup() and look_up() have given it
// out. All others are good for ever, and to forget them does nothing.
class MountTree {
 public:
  static constexpr std::uint64_t kRootNumber = 1;

  // `nested`: a directory for the container even when there is only one. Equal names get "~2", "~3".
  MountTree(std::vector<MountedContainer> containers, bool nested);

  Result<std::uint64_t> lookup(std::uint64_t directory, std::string_view name, Goal& goal) const;
  // The number of an entry of a listing, as lookup() gives it.
  std::uint64_t look_up(const MountEntry& entry) const;
  void forget(std::uint64_t number, std::uint64_t lookups) const;
  Result<FileStatus> status(std::uint64_t number, Goal& goal) const;
  // Without "." and "..".
  Result<void> list(std::uint64_t directory, std::uint64_t place, const std::function<bool(const MountEntry&)>& emit,
                    Goal& goal) const;
  // What stat() shows of a directory, and of the one that it stands in.
  std::uint64_t inode(std::uint64_t directory) const;
  std::uint64_t parent_inode(std::uint64_t directory) const;
  Result<std::string> target(std::uint64_t link) const;
  Result<Slice> read(std::uint64_t file, std::uint64_t offset, std::uint64_t length, Goal& goal) const;

  bool is_record(std::uint64_t number) const;
  // Hands out the numbers and the bytes of the records behind one, in the container's order, without those that can't
  // be read, until `take` has had enough. Ends where a chunk can't be decoded now or is too large to hold. Decodes, so
  // it may take as long as a read.
  void walk_on(std::uint64_t record, const std::function<bool(std::uint64_t number, Bytes bytes)>& take) const;

  // How many records the containers are known to hold so far, for statfs.
  std::uint64_t known_records() const;
  // Size of the sources together, for statfs.
  std::uint64_t total_size() const;
  // How many records the kernel knows a part of.
  std::size_t known_insides() const { return known_.rows(); }

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

  std::uint64_t look_up(std::size_t container, Node node) const;

  const bool nested_;
  mutable KeptFiles kept_;
  mutable KnownRecords known_;
  std::vector<Mounted> mounted_;
  Numbering numbering_;
};

}  // namespace recordfs
