// Mirror: directories of the source as they stand there, now.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusefs/tree/container_node.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/mirror/directory_stream.h"
#include "fusefs/tree/mirror/known_nodes.h"
#include "fusefs/tree/mirror/mirrored_containers.h"
#include "fusefs/tree/mirror/probes.h"
#include "fusefs/tree/mirror/recently_used.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

struct MirroredDirectory {
  std::string name;  // in the mount, where it is not the root
  std::shared_ptr<const RootedDir> directory;
};

struct MirrorSettings {
  ProbeHead probe;
  OpenContainer open;
  std::function<void(Ownership&)> adjust;  // of what the source says
};

// Any thread. Asks the source at each call, in the thread that calls; it never answers kPending. Numbers that were
// forgotten, or never given out, fail with stale_error(), and so do those of what stands there no more.
class Mirror {
 public:
  // `is_root`: the one directory is the root of the mount and has its number. `cache` has to outlive this; `taken` are
  // the numbers of the mount's other containers.
  Mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root, CachedFiles& cache,
         const InodeMap& taken);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Whether a number is one of those that this gives out: of a directory, of a file or link that passes through, or of
  // a container's own directory.
  bool owns(std::uint64_t number) const { return KnownNodes::is_mirrored(number) || (is_root_ && number == kRoot); }
  // Whether it is of a container's own directory.
  bool is_container(std::uint64_t number) const;

  // REQUIRES of the following: owns(number).
  // What stands in a directory by this name, looked up once more. kNotFound where there is nothing, or nothing that is
  // shown: sockets, fifos and devices.
  Result<FileStatus> look_up_and_reference(std::uint64_t directory, std::string_view name);
  Result<FileStatus> status(std::uint64_t number);
  Result<std::string> target(std::uint64_t link) const;
  // Up to `length` bytes of a file that passes through: fewer only at its end.
  Result<Slice> read(std::uint64_t file, std::uint64_t offset, std::uint64_t length);
  void forget(std::uint64_t number, std::uint64_t lookups);
  // What stat() shows of it, and of the directory that it stands in; that of the mount's root where it is not known.
  std::uint64_t inode(std::uint64_t number) const;
  std::uint64_t parent_inode(std::uint64_t number) const;
  // The container whose own directory it is; kNotFound: it is none. Otherwise fails as MirroredContainers::get does.
  Result<std::shared_ptr<const ContainerNode>> container(std::uint64_t number);

  // Opens a directory for list(). The number that it returns is never 0.
  Result<std::uint64_t> open_directory(std::uint64_t directory);
  // Hands out the entries of an opened directory from `place` on, "." and ".." among them, without their sizes. Ends
  // well when all were handed out or `emit` has had enough.
  Result<void> list(std::uint64_t directory, std::uint64_t opened, std::uint64_t place,
                    const std::function<bool(const MountEntry&)>& emit);
  void close_directory(std::uint64_t opened) { streams_.drop(opened); }

  // The number of a mirrored directory's own node, by its place among them.
  std::uint64_t number_of_source(std::size_t source) const { return numbers_[source]; }

  // Of the nodes inside containers.
  std::optional<MirroredContainers::MirroredInode> find(std::uint64_t number) const { return containers_.find(number); }
  void reference_inside(std::uint64_t container) { nodes_.reference_inside(container); }
  void forget_inside(std::uint64_t container, std::uint64_t lookups);

  // Of the filesystems that the directories stand on: bytes and files in use.
  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };
  Usage usage() const;

  std::size_t known_nodes() const { return nodes_.size(); }
  std::size_t open_containers() const { return containers_.open(); }

 private:
  static constexpr std::uint64_t kRoot = 1;
  static constexpr std::size_t kOpenFiles = 32;
  static constexpr std::size_t kOpenDirectories = 32;

  const RootedDir& source_of(const MirroredNode& node) const { return *directories_[node.source].directory; }
  Result<KnownNodes::Pointer> node(std::uint64_t number) const;
  Result<Looked> look(const MirroredNode& node) const;
  std::string shown_path(const MirroredNode& node) const;
  Ownership ownership_of(MirroredType type, const FileState& state) const;
  FileStatus status_of(const MirroredNode& node, const FileState& state) const;
  std::optional<MirroredType> type_of(const Looked& found, int directory, const std::string& name, const timespec& now);
  bool is_container_file(int directory, const std::string& name, const FileState& state, const timespec& now);
  std::optional<FileType> listed_type(int directory, const DirectoryStream::Name& entry, const timespec& now);
  Result<std::shared_ptr<DirectoryStream>> stream(std::uint64_t directory, std::uint64_t opened);
  Result<std::shared_ptr<const Descriptor>> open_file(const MirroredNode& node);
  void drop(std::uint64_t number);
  void sweep();

  const std::vector<MirroredDirectory> directories_;
  const MirrorSettings settings_;
  const bool is_root_;
  Probes probes_;
  KnownNodes nodes_;
  std::vector<std::uint64_t> numbers_;  // of the directories
  MirroredContainers containers_;
  RecentlyUsed<const Descriptor> files_{kOpenFiles};
  RecentlyUsed<DirectoryStream> streams_{kOpenDirectories};
  std::atomic<std::uint64_t> next_stream_{1};
  const std::shared_ptr<DeferredClosers> closers_;
};

}  // namespace recordfs
