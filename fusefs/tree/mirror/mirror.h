// Mirror: directories of the source, shown in their current state.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/store/executor.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/container_subtree.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

struct MirroredDirectory {
  std::string name;  // in the mount, unless it is the root
  std::shared_ptr<const SourceTree> directory;
};

// Converts an error for a node that the kernel knows: a path that is gone makes the node stale.
Error as_stale(Error error);

// The directories of a mirror, and how their nodes are shown. Immutable, thread-safe.
class MirroredSources {
 public:
  // `adjust` changes the source's owner and permissions; may be null.
  MirroredSources(std::vector<MirroredDirectory> directories, bool is_root, std::function<void(Ownership&)> adjust)
      : directories_(std::move(directories)), is_root_(is_root), adjust_(std::move(adjust)) {}

  const std::vector<MirroredDirectory>& directories() const { return directories_; }
  const SourceTree& of(const MirroredNode& node) const { return *directories_[node.source].directory; }

  // Looks up the path of a node. Fails with stale_error() if it is another file now.
  Result<FileHandle> look(const RequestContext& context, const MirroredNode& node) const;

  // Returns a node's path in the mount.
  std::string shown_path(const MirroredNode& node) const;
  // Returns the inode number of a node and of its parent directory.
  std::uint64_t inode(const MirroredNode& node) const;
  std::uint64_t parent_inode(const MirroredNode& node) const;
  Ownership ownership_of(MirroredType type, const FileState& state) const;
  FileStatus status_of(const MirroredNode& node, const FileState& state) const;

 private:
  const std::vector<MirroredDirectory> directories_;
  const bool is_root_;
  const std::function<void(Ownership&)> adjust_;
};

// Tells which regular files are containers, from their first bytes. Thread-safe. Caches the answer for each state of a
// file: at most 200,000 answers in 10 MiB, and then none again.
class Probes {
 public:
  explicit Probes(ProbeHead probe) : probe_(std::move(probe)) {}

  // Returns what an entry of an open directory is shown as; nullopt for one that is not shown, and in a listing for one
  // that no longer exists. `now` is before the lookup. Reads the head of a regular file whose state is new.
  std::optional<MirroredType> type_of(const FileHandle& found, int directory, const std::string& name,
                                      const timespec& now);
  std::optional<FileType> listed_type(const MirroredListing::Name& entry, const timespec& now);

  // Returns the cached answer, or nullopt.
  std::optional<bool> find(const FileState& state, std::string_view name) const;
  // Reads the head of a file that was in `state` at a time after `now`. Returns false for an unreadable file. Blocks
  // regardless of RequestContext. Throws std::bad_alloc if there is no memory to read it.
  bool ask(const Descriptor& file, const FileState& state, std::string_view name, const timespec& now);

 private:
  struct Key {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.first); }
  };
  bool is_container(int directory, const std::string& name, const FileState& state, const timespec& now);
  static Key key_of(const FileState& state, std::string_view name);

  const ProbeHead probe_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, bool, Hash> answers_;
};

// Threads that close unused objects. Each filesystem that may hang has a thread of its own. None starts before the
// first object, so that the process may still fork. Thread-safe.
class Closers {
 public:
  // Calls `sweep` every `period`, on a thread that waits for no filesystem.
  Closers(std::chrono::milliseconds period, std::function<void()> sweep) : period_(period), sweep_(std::move(sweep)) {}
  ~Closers() { stop(); }
  Closers(const Closers&) = delete;
  Closers& operator=(const Closers&) = delete;

  // Starts the thread of a filesystem, and the sweeps. `filesystem` is a result of Source::filesystem(). Fails with
  // kOutOfMemory if the system provides no thread, and with kInterrupted after stop().
  Result<std::shared_ptr<Executor>> start(std::uint64_t filesystem);

  // Returns a shared pointer to `thing`, which the filesystem's thread destroys. A container's destructor joins its
  // catalog's thread, and the last user may be that thread. Closing a file can block on its filesystem. After stop(),
  // the last user destroys it. Fails as start() does.
  template <class Thing>
  Result<std::shared_ptr<Thing>> closed_later(std::uint64_t filesystem, std::unique_ptr<Thing> thing) {
    ASSIGN_OR_RETURN(auto closer, start(filesystem));
    // Allocated now, because the deleter could not report a failed allocation.
    const std::shared_ptr<Backlog> backlog = filesystem == 0 ? backlog_ : std::make_shared<Backlog>();
    const auto closing = std::make_shared<Executor::Task>([last = thing.get(), backlog] {
      delete last;
      backlog->remove();
    });
    return std::shared_ptr<Thing>(thing.release(), [closer = std::move(closer), closing, backlog](Thing* last) {
      backlog->add();
      if (closer->post(Executor::Priority::kWaitedFor, std::move(*closing))) return;
      delete last;
      backlog->remove();
    });
  }

  // Blocks while many things of filesystems that cannot hang wait to be closed, but at most a second. Call it before
  // opening more, so that descriptors remain few. Returns whether few wait.
  bool wait_for_room() const { return backlog_->wait_for_room(); }

  // Closes what is unused, and ends the threads. May block on a filesystem that hangs.
  void stop();

 private:
  // Further filesystems share the thread of the last one.
  static constexpr std::size_t kMostFilesystems = 16;

  // How many things wait to be closed. Those of a filesystem that may hang do not count: others would wait for it.
  class Backlog {
   public:
    void add() {
      const std::lock_guard lock(mutex_);
      ++things_;
    }
    void remove() {
      const std::lock_guard lock(mutex_);
      --things_;
      shorter_.notify_all();
    }
    bool wait_for_room() {
      std::unique_lock lock(mutex_);
      return shorter_.wait_for(lock, kMostWait, [this] { return things_ < kMostWaiting; });
    }

   private:
    static constexpr std::size_t kMostWaiting = 8;
    static constexpr std::chrono::seconds kMostWait{1};

    std::mutex mutex_;
    std::condition_variable shorter_;
    std::size_t things_ = 0;
  };

  void run_sweeps();

  const std::shared_ptr<Backlog> backlog_ = std::make_shared<Backlog>();  // things may be closed after this has gone
  const std::chrono::milliseconds period_;
  const std::function<void()> sweep_;
  std::mutex mutex_;                                              // guards the following
  std::map<std::uint64_t, std::shared_ptr<Executor>> executors_;  // 0: of all filesystems that cannot hang
  bool is_ending_ = false;
  std::condition_variable ending_;
  std::thread sweeper_;
};

// Opens a store for a source. `path` is for log lines and errors.
using OpenContainer = std::function<Result<std::shared_ptr<const RecordStore>>(
    const RequestContext& context, std::shared_ptr<const Source> source, const std::string& path)>;

struct MirrorSettings {
  ProbeHead probe;
  OpenContainer open;
  std::function<void(Ownership&)> adjust;  // changes the source's owner and permissions; may be null
};

// Serves the nodes of mirrored directories: directories, files and links that are passed through, and the containers'
// own directories, in which ContainerSubtree finds and lists names. Nodes inside containers have other numbers.
//
// Thread-safe. Functions that read the source do so in the calling thread, and may block as far as RequestContext
// permits. They return kPending only if it refuses, with no Error::wait. A number without references fails with
// stale_error(), and so does one whose file has been removed or replaced, unless Mirror still has that file open.
class Mirror final : public Subtree, public ContainerOpener {
 public:
  // `is_root`: the only directory is the root of the mount and has its number. The references must outlive this. Opens
  // containers for `insides`.
  Mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root, TreeContext& cache,
         InodeTable& inodes, ContainerSubtree& insides);
  ~Mirror() override;

  // Reads the head of a regular file once per state, to tell whether it is a container. Fails with kNotFound if there
  // is no such name, or for a socket, FIFO or device.
  Result<LookupResult> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name) override;
  void forget(std::uint64_t number, std::uint64_t lookups) override { insides_.forget(number, lookups); }
  // For a container, returns the status at its lookup. Does not read the source for that.
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number) override;
  // Lists a container. Fails with kNotFound for other directories, which must be opened.
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                    const EmitEntry& emit) override {
    return insides_.list(context, directory, place, emit);
  }
  Result<std::string> target(const RequestContext& context, std::uint64_t link) override;
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                     std::uint64_t length) override;
  void drop(std::uint64_t number) override;
  std::uint64_t inode(const RequestContext& context, std::uint64_t number) override;
  std::uint64_t parent_inode(const RequestContext& context, std::uint64_t number) override;
  bool may_gain_names(const RequestContext&, std::uint64_t directory) override { return !is_container(directory); }
  // Returns the container whose own directory the node is, and opens it if necessary. The most recently used ones stay
  // open, and others while their pointers are held. Fails with kNotFound if it is another kind of node, with
  // stale_error() if the path has another file or state now, and with kLimit if no range of numbers is free. Also fails
  // as SourceTree::open() and OpenContainer.
  Result<Pointer> container(const RequestContext& context, std::uint64_t number) override;

  // Opens a directory for list(), unless it is a container.
  Result<OpenedDirectory> open_directory(const RequestContext& context, std::uint64_t directory) override;
  // Emits the entries of an opened directory, with "." and ".." and without sizes. Starts at `place`: 0 or the `next`
  // of an entry, also if the directory had to be opened again. Succeeds once `emit` returned false or every entry was
  // emitted. Calls fstatat() for each local file, and probes those whose state is new.
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t opened, std::uint64_t place,
                    const EmitEntry& emit);
  void close_directory(std::uint64_t opened) { streams_.drop(opened); }

  // `source` is the index of a mirrored directory.
  std::uint64_t number_of_source(std::size_t source) const { return numbers_[source]; }

  // Adds bytes and files in use on the filesystems of the directories. Omits those that cannot be asked.
  void add_usage(const RequestContext& context, Usage& usage);

  std::size_t open_containers() const { return containers_.size(); }

 private:
  static constexpr std::uint64_t kRoot = kMountRoot;
  static constexpr std::size_t kOpenContainers = 64;
  static constexpr std::size_t kOpenFiles = 32;
  static constexpr std::size_t kOpenDirectories = 32;

  bool is_container(std::uint64_t number) const;
  Result<InodeTable::MirroredPointer> node(std::uint64_t number) const;
  Result<std::shared_ptr<MirroredListing>> stream(const RequestContext& context, std::uint64_t directory,
                                                  std::uint64_t opened);
  Result<std::unique_ptr<MirroredFile>> open(const RequestContext& context, const MirroredNode& node) const;
  Result<std::shared_ptr<const MirroredFile>> open_file(const RequestContext& context, const MirroredNode& node);
  void sweep();

  const bool is_root_;
  const MirroredSources sources_;
  const OpenContainer open_container_;
  TreeContext& cache_;
  InodeTable& inodes_;
  ContainerSubtree& insides_;
  Probes probes_;
  std::vector<std::uint64_t> numbers_;  // by directory
  BoundedLru<std::uint64_t, std::shared_ptr<const ContainerNode>> containers_{kOpenContainers};
  BoundedLru<std::uint64_t, std::shared_ptr<const MirroredFile>> files_{kOpenFiles};
  BoundedLru<std::uint64_t, std::shared_ptr<MirroredListing>> streams_{kOpenDirectories};
  std::atomic<std::uint64_t> next_stream_{1};
  Closers closers_;
};

}  // namespace recordfs
