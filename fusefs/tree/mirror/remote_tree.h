// RemoteTree: a directory of a server, and what is below it, as its listings tell.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/location.h"
#include "core/base/storage.h"
#include "fusefs/tree/mirror/source_tree.h"

namespace recordfs {

// What a listing or a status tells of an object or a directory.
struct RemoteEntry {
  std::string name;
  bool is_directory = false;
  std::uint64_t size = 0;
  timespec modified{};
  std::uint64_t version = 0;  // a hash of ListedEntry::version
  std::uint64_t place = 0;    // in the listing: the number of entries before it
};

// The entries of a directory, each name once, as far as they were listed.
class RemoteFolder {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RemoteFolder(Clock::time_point read_at) : read_at_(read_at) {}

  // Adds an entry, unless there is one of this name. A directory replaces an object. Returns whether it is a new name.
  bool add(RemoteEntry entry);
  // Announces that there are no more entries.
  void complete() { is_complete_ = true; }
  // Adds time that requests have taken.
  void spend(Clock::duration time) { took_ += time; }

  // In the order of the server.
  const std::deque<RemoteEntry>& entries() const { return entries_; }
  // Returns null if there is none.
  const RemoteEntry* find(std::string_view name) const;
  bool is_complete() const { return is_complete_; }
  Clock::time_point read_at() const { return read_at_; }
  // Returns how long its requests have taken.
  Clock::duration took() const { return took_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Clock::time_point read_at_;
  std::deque<RemoteEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys point into the entries
  bool is_complete_ = false;
  Clock::duration took_{};
  std::uint64_t bytes_ = 0;
};

// Lookups are answered from the listing of the directory that the name is in, which is repeated when it is older than
// kFresh and than ten times as long as it took. If it has more than one page, a name that was not listed yet costs a
// request of its own. No object is opened to be listed, or to be looked up if its name says what it is.
class RemoteTree final : public SourceTree {
 public:
  using Clock = RemoteFolder::Clock;
  static constexpr std::chrono::seconds kFresh{10};

  struct Settings {
    ProbeHead probe;
    std::function<bool(std::string_view name)> has_container_name;  // whether to take an object for a container unread
    std::function<void(const std::string& text)> warn;
    std::chrono::milliseconds fresh = kFresh;  // how old a listing may be
  };

  // Lists the first page. Fails like Storage::list_page().
  static Result<std::shared_ptr<const RemoteTree>> open(const Location& directory, Settings settings);

  const std::string& name() const override { return top_.text(); }
  const FileState& state() const override { return state_; }
  std::uint64_t filesystem(std::uint64_t) const override { return state_.device; }

  Result<FileHandle> look(const RequestContext& context, const std::string& path) const override;
  Result<FileHandle> look_in(const RequestContext& context, const FileHandle& directory,
                             const std::string& name) const override;
  // Fails with stale_error() if the object is not the one that was looked up, or no container although its name said
  // so.
  Result<std::unique_ptr<MirroredFile>> open(const RequestContext& context, const std::string& path,
                                             const FileState& state) const override;
  Result<std::shared_ptr<MirroredListing>> open_listing(const RequestContext& context,
                                                        const FileHandle& directory) const override;
  Result<std::string> target_of(const FileHandle&) const override { return place_error(ENOENT); }
  void add_usage(const RequestContext&, Usage&) const override {}

  // The following are for the listings of this tree.

  using FolderPointer = std::shared_ptr<const RemoteFolder>;
  struct Page {
    std::vector<RemoteEntry> entries;
    std::string next;  // empty: this is the last one
    Clock::duration took{};
  };
  // Requests a page. Leaves out names that no file can have, and tells so once.
  Result<Page> page(const RequestContext& context, const std::string& directory, const std::string& page) const;
  // Returns the whole listing of a directory if a fresh one is in memory, otherwise null.
  FolderPointer fresh_folder(const std::string& directory) const;
  void keep(const std::string& directory, FolderPointer folder) const;
  // Returns whether an object is a container; nullopt if that is not known without a request.
  std::optional<bool> known_type(const std::string& path, const RemoteEntry& entry) const;

 private:
  static constexpr std::size_t kFolders = 64;
  static constexpr std::uint64_t kFolderBytes = 16u << 20;
  static constexpr std::size_t kStatuses = 4096;
  static constexpr std::size_t kObjects = 20'000;

  struct KeptFolder {
    Result<FolderPointer> folder;  // or why there is none
    Clock::time_point until;
  };
  struct KeptStatus {
    Result<RemoteEntry> entry;  // or that there is none
    Clock::time_point at;
  };
  // What is known of an object that was opened. A new generation begins when it contradicts what was known.
  struct Object {
    std::uint64_t listed = 0;            // listed_key() of the entry
    timespec modified{};                 // as listed
    std::uint64_t size = 0;              // of the opened object, or as listed
    std::string opened_version{};        // empty: it was not opened
    std::optional<bool> is_container{};  // by its head
    std::uint32_t generation = 0;
  };

  RemoteTree(Location top, Settings settings);

  Location location_of(const std::string& path) const;
  std::optional<KeptFolder> kept_folder(const std::string& directory) const;
  Result<FolderPointer> folder(const RequestContext& context, const std::string& directory) const;
  Result<RemoteEntry> find(const RequestContext& context, const std::string& directory, const std::string& name) const;
  Result<RemoteEntry> status(const RequestContext& context, const std::string& directory,
                             const std::string& name) const;
  Result<FileHandle> handle_of(const RequestContext& context, const std::string& path, const RemoteEntry& entry) const;
  Result<bool> probed(const RequestContext& context, Object known, const std::string& path, const Source& source) const;

  // Returns a hash of what a listing tells of an object.
  static std::uint64_t listed_key(const RemoteEntry& entry);
  // Returns what is known of the object that was listed so; otherwise what the listing tells.
  Object object(const std::string& path, const RemoteEntry& entry) const;
  Object opened(Object known, const std::string& path, const Source& source) const;
  void keep(const std::string& path, const Object& object) const;
  FileState state_of(const std::string& path, const Object& object) const;
  void forget_listing(const std::string& path) const;

  const Location top_;
  const Settings settings_;
  const FileState state_;
  mutable std::array<CancellableMutex, 16>
      listing_;  // by hash of the directory: each is listed by one thread at a time
  mutable BoundedLru<std::string, KeptFolder> folders_{kFolders, kFolderBytes};
  mutable BoundedLru<std::string, KeptStatus> statuses_{kStatuses};
  mutable std::atomic<bool> has_warned_{false};
  mutable BoundedLru<std::string, Object> objects_{kObjects};
};

}  // namespace recordfs
