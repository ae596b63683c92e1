#include "fusefs/tree/mirror/remote_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>

#include "core/base/source.h"
#include "fusefs/tree/mirror/remote_listing.h"

namespace recordfs {
namespace {

constexpr int kTimesAsLong = 10;                       // as it took, a listing is valid at least
constexpr std::uint32_t kGenerations = 1'000'000'000;  // fit in the nanoseconds of a time
constexpr std::chrono::milliseconds kKeepsFailure{1000};
constexpr mode_t kObjectMode = S_IFREG | 0400;
constexpr mode_t kDirectoryMode = S_IFDIR | 0700;

std::uint64_t hashed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool may_be_shown(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Converts an error of Storage for a mount.
Error mount_error(Error error) { return is_not_there(error) ? place_error(ENOENT) : std::move(error); }

// Returns whether an object that cannot be opened for this reason is shown as a file, whose reading fails.
bool is_unreadable(const Error& error) {
  return is_not_there(error) || error.os_error == EACCES || error.code == Code::kUnsupported;
}

bool is_refusal(const Error& error) { return error.code == Code::kPending || error.code == Code::kInterrupted; }

class RemoteFile final : public MirroredFile {
 public:
  using Report = std::function<void(const Error& why)>;

  // `report` is called with the first error of a read.
  RemoteFile(std::shared_ptr<const Source> source, const FileState& state, Report report)
      : source_(std::move(source)), state_(state), report_(std::move(report)) {}

  Result<FileState> state() const override { return state_; }
  Result<std::size_t> read(const RequestContext& context, std::uint64_t at, MutableBytes out) const override {
    auto got = source_->read_at(context, at, out);
    if (!got && !is_refusal(got.error()) && !has_failed_.exchange(true)) report_(got.error());
    if (!got && got.error().code == Code::kChanged) return stale_error();
    return got;
  }
  Result<std::shared_ptr<const Source>> source(std::string) override { return source_; }

 private:
  const std::shared_ptr<const Source> source_;
  const FileState state_;
  const Report report_;
  mutable std::atomic<bool> has_failed_{false};
};

}  // namespace

RemoteTree::RemoteTree(Location top, Settings settings)
    : top_(std::move(top)),
      settings_(std::move(settings)),
      state_{.device = top_.storage().filesystem(top_, 0),
             .inode = std::hash<std::string>{}(top_.text()),
             .mode = kDirectoryMode,
             .uid = ::geteuid(),
             .gid = ::getegid()} {}

Result<std::shared_ptr<const RemoteTree>> RemoteTree::open(const Location& directory, Settings settings) {
  std::shared_ptr<const RemoteTree> tree(new RemoteTree(directory, std::move(settings)));
  TRY(tree->folder({}, ""));
  return tree;
}

Location RemoteTree::location_of(const std::string& path) const {
  Location location = top_;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    location = location.child(std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  return location;
}

// --- listings

Result<RemoteTree::Page> RemoteTree::page(const RequestContext& context, const std::string& directory,
                                          const std::string& page) const {
  Page read;
  std::uint64_t count = 0;
  const Location location = location_of(directory);
  const auto begin = Clock::now();
  ASSIGN_OR_RETURN(
      read.next, location.storage().list_page(context, location, page, [&](const ListedEntry& entry) -> Result<void> {
        const bool is_shown = may_be_shown(entry.name) && entry.name.size() <= NAME_MAX;
        if (!is_shown && !has_warned_.exchange(true)) {
          settings_.warn(directory,
                         "names that no file can have are not shown (longer than 255 bytes, or with a slash)");
        }
        if (!is_shown || entry.kind == SourceKind::kOther) return {};
        read.entries.push_back({.name = entry.name,
                                .is_directory = entry.kind == SourceKind::kDirectory,
                                .size = entry.size,
                                .modified = entry.modified,
                                .version = std::hash<std::string_view>{}(entry.version),
                                .place = count++});
        return {};
      }));
  read.took = Clock::now() - begin;
  return read;
}

std::optional<RemoteTree::KeptFolder> RemoteTree::kept_folder(const std::string& directory) const {
  auto known = folders_.find(directory);
  if (known && Clock::now() < known->until) return known;
  if (known) folders_.drop(directory);
  return std::nullopt;
}

RemoteTree::FolderPointer RemoteTree::fresh_folder(const std::string& directory) const {
  const auto known = kept_folder(directory);
  return known && known->folder && (*known->folder)->is_complete() ? *known->folder : nullptr;
}

void RemoteTree::keep(const std::string& directory, FolderPointer folder) const {
  const Clock::duration least = folder->is_complete() ? kTimesAsLong * folder->took() : Clock::duration{};
  const auto until = folder->read_at() + std::max<Clock::duration>(settings_.fresh, least);
  const std::uint64_t bytes = folder->bytes();
  folders_.drop(directory);
  folders_.add(directory, {std::move(folder), until}, bytes);
}

// Returns the first page of a listing, or more of it.
Result<RemoteTree::FolderPointer> RemoteTree::folder(const RequestContext& context,
                                                     const std::string& directory) const {
  if (auto known = kept_folder(directory)) return std::move(known->folder);
  TRY(may_ask(context, state_.device));
  auto& listing = listing_[std::hash<std::string>{}(directory) % listing_.size()];
  ASSIGN_OR_RETURN(const auto lock, listing.lock(context));
  if (auto known = kept_folder(directory)) return std::move(known->folder);
  auto made = std::make_shared<RemoteFolder>(RemoteTree::Clock::now());
  auto first = page(context, directory, {});
  if (!first) {
    if (is_refusal(first.error())) return std::move(first).error();
    report(directory, first.error());
    return folders_.add(directory, {std::move(first).error(), Clock::now() + kKeepsFailure}).folder;
  }
  for (RemoteEntry& entry : first->entries) made->add(std::move(entry));
  made->spend(first->took);
  if (first->next.empty()) made->complete();
  keep(directory, made);
  return FolderPointer(std::move(made));
}

void RemoteTree::report(const std::string& directory, const Error& why) const {
  if (!is_refusal(why) && !is_not_there(why)) settings_.warn(directory, "cannot be listed: " + why.detail);
}

void RemoteTree::forget_listing(const std::string& path) const {
  folders_.drop(parent_of(path));
  statuses_.drop(path);
}

// --- lookups

Result<FileHandle> RemoteTree::look(const RequestContext& context, const std::string& path) const {
  if (path.empty()) return FileHandle{.descriptor = {}, .state = state_};
  ASSIGN_OR_RETURN(const auto entry, find(context, parent_of(path), last_name(path)));
  return handle_of(context, path, entry);
}

Result<FileHandle> RemoteTree::look_in(const RequestContext& context, const FileHandle& directory,
                                       const std::string& name) const {
  if (!may_be_shown(name) || !S_ISDIR(directory.state.mode)) return place_error(ENOENT);
  ASSIGN_OR_RETURN(const auto entry, find(context, directory.path, name));
  return handle_of(context, path_below(directory.path, name), entry);
}

Result<RemoteEntry> RemoteTree::find(const RequestContext& context, const std::string& directory,
                                     const std::string& name) const {
  if (name.size() > NAME_MAX) return place_error(ENAMETOOLONG);
  const auto listed = folder(context, directory);
  if (!listed) {
    // Some servers let files be read whose directory they do not list.
    const Error& why = listed.error();
    if (why.os_error != EACCES && why.code != Code::kUnsupported) return mount_error(why);
    return status(context, directory, name);
  }
  if (const RemoteEntry* const entry = (*listed)->find(name)) return *entry;
  if ((*listed)->is_complete()) return place_error(ENOENT);
  return status(context, directory, name);
}

Result<RemoteEntry> RemoteTree::status(const RequestContext& context, const std::string& directory,
                                       const std::string& name) const {
  const std::string path = path_below(directory, name);
  if (auto known = statuses_.find(path)) {
    if (RemoteTree::Clock::now() - known->at < settings_.fresh) return std::move(known->entry);
    statuses_.drop(path);
  }
  const auto found = status_of(context, location_of(path));
  if (!found && !is_not_there(found.error())) return found.error();
  Result<RemoteEntry> entry = place_error(ENOENT);
  if (found) {
    entry = RemoteEntry{.name = name,
                        .is_directory = found->kind == SourceKind::kDirectory,
                        .size = found->size,
                        .modified = {.tv_sec = found->modified.tv_sec, .tv_nsec = 0}};
  }
  return statuses_.add(path, {std::move(entry), RemoteTree::Clock::now()}).entry;
}

Result<FileHandle> RemoteTree::handle_of(const RequestContext& context, const std::string& path,
                                         const RemoteEntry& entry) const {
  if (entry.is_directory) {
    FileState state = state_;
    state.inode = std::hash<std::string>{}(path);
    state.modified = entry.modified;
    return FileHandle{.descriptor = {}, .state = state, .path = path};
  }
  Object known = object(path, entry);
  auto type = known_type(path, entry);
  if (!type) {
    auto source = open_source(context, location_of(path));
    if (!source && !is_unreadable(source.error())) return std::move(source).error();
    type = false;
    if (source) {
      known = opened(std::move(known), path, *source);
      ASSIGN_OR_RETURN(type, probed(context, known, path, **source));
    }
  }
  return FileHandle{.descriptor = {}, .state = state_of(path, known), .is_container = *type, .path = path};
}

Result<std::unique_ptr<MirroredFile>> RemoteTree::open(const RequestContext& context, const std::string& path,
                                                       const FileState& state) const {
  TRY(may_ask(context, state_.device));
  ASSIGN_OR_RETURN(const auto entry, find(context, parent_of(path), last_name(path)));
  const Object known = object(path, entry);
  if (entry.is_directory || !state_of(path, known).is_unchanged(state)) return stale_error();
  auto source = open_source(context, location_of(path));
  if (!source) {
    if (is_not_there(source.error())) forget_listing(path);
    return mount_error(std::move(source).error());
  }
  Object now = opened(known, path, *source);
  const FileState opened_state = state_of(path, now);
  if (!opened_state.is_unchanged(state)) {
    forget_listing(path);
    return stale_error();
  }
  if (!now.is_container && now.size > 0 && settings_.has_container_name(last_name(path))) {
    ASSIGN_OR_RETURN(const auto is_container, probed(context, now, path, **source));
    if (!is_container) return stale_error();
    now.is_container = true;
  }
  now.was_read = true;
  keep(path, now);
  return std::unique_ptr<MirroredFile>(std::make_unique<RemoteFile>(
      std::move(*source), opened_state, [this, path](const Error& why) { settings_.warn(path, why.detail); }));
}

Result<std::shared_ptr<MirroredListing>> RemoteTree::open_listing(const RequestContext&,
                                                                  const FileHandle& directory) const {
  return list_remote(*this, directory.path);
}

// --- objects

std::uint64_t RemoteTree::listed_key(const RemoteEntry& entry) {
  // Becomes a time in the far future, see state_of().
  constexpr std::uint64_t kMost = std::uint64_t{1} << 61;
  const std::uint64_t hash =
      hashed(hashed(entry.size, static_cast<std::uint64_t>(entry.modified.tv_sec)), entry.version);
  return kMost | hash >> 3;
}

RemoteTree::Object RemoteTree::object(const std::string& path, const RemoteEntry& entry) const {
  const std::uint64_t listed = listed_key(entry);
  const auto known = objects_.find(path);
  if (known && known->listed == listed) return *known;
  return {.listed = listed, .modified = entry.modified, .size = entry.size};
}

RemoteTree::Object RemoteTree::opened(Object known, const std::string& path,
                                      const std::shared_ptr<const Source>& source) const {
  // Without an id, no two openings are known to be of the same bytes.
  SourceId id = source->id().value_or(SourceId{.source = {}, .version = {}});
  const bool is_same_opening = known.source.lock() == source;
  const bool may_differ = known.id && (!(id == *known.id) || (known.was_read && !known.id->is_settled));
  if (known.size != source->size() || (may_differ && !is_same_opening)) {
    known.generation = (known.generation + 1) % kGenerations;
    known.size = source->size();
    known.is_container.reset();
    known.was_read = false;
  }
  known.id = std::move(id);
  known.source = source;
  keep(path, known);
  return known;
}

void RemoteTree::keep(const std::string& path, const Object& object) const {
  objects_.drop(path);
  objects_.add(path, object);
}

std::optional<bool> RemoteTree::known_type(const std::string& path, const RemoteEntry& entry) const {
  const Object known = object(path, entry);
  if (known.is_container || known.size == 0) return known.is_container.value_or(false);
  return settings_.has_container_name(entry.name) ? std::optional(true) : std::nullopt;
}

Result<bool> RemoteTree::probed(const RequestContext& context, Object known, const std::string& path,
                                const Source& source) const {
  ASSIGN_OR_RETURN(const auto is_container, settings_.probe(context, source, last_name(path)));
  known.is_container = is_container;
  keep(path, known);
  return is_container;
}

// The inode number and the time of the last change tell apart all that the object may have been at this path.
FileState RemoteTree::state_of(const std::string& path, const Object& object) const {
  FileState state = state_;
  state.inode = hashed(hashed(std::hash<std::string>{}(path), object.listed), object.generation);
  state.size = object.size;
  state.mode = kObjectMode;
  state.modified = object.modified;
  state.changed = {.tv_sec = static_cast<time_t>(object.listed), .tv_nsec = object.generation};
  return state;
}

}  // namespace recordfs
