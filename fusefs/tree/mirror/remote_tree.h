// RemoteTree: a directory of a server, and what is below it, as its listings tell.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/location.h"
#include "core/base/storage.h"
#include "fusefs/tree/mirror/remote_folder.h"
#include "fusefs/tree/mirror/source_tree.h"

namespace recordfs {

// Returns the path of a name in a directory.
inline std::string path_below(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

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
    // Logs a line about a path below the directory.
    std::function<void(const std::string& path, const std::string& text)> warn;
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
  // Logs why a directory cannot be listed, unless the request is only to be repeated.
  void report(const std::string& directory, const Error& why) const;
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
    std::uint64_t listed = 0;      // listed_key() of the entry
    timespec modified{};           // as listed
    std::uint64_t size = 0;        // of the opened object, or as listed
    std::optional<SourceId> id{};  // of the opened object
    std::weak_ptr<const Source> source{};
    bool was_read = false;               // the kernel may have bytes of this generation
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
  // Returns what is known of an object that is open now.
  Object opened(Object known, const std::string& path, const std::shared_ptr<const Source>& source) const;
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
