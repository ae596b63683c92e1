#include "fusefs/tree/mirror/mirror.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/request_context.h"
#include "core/base/thread.h"

namespace recordfs {
namespace {

// A mirror is read-only. Directories keep their owner's write permission, without which a copy could not be removed.
constexpr mode_t kOfFiles = 0555;
constexpr mode_t kOfDirectories = 0755;

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

constexpr std::size_t kMostAnswers = 200'000;
constexpr std::uint64_t kShortHead = 4096;  // enough for most formats
constexpr std::uint64_t kHead = 64u << 10;

// An open file whose first bytes are read once. Not thread-safe.
class Head final : public Source {
 public:
  Head(const Descriptor& file, std::uint64_t size) : file_(file), size_(size) {}

  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= size_) return std::size_t{0};
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - at)));
    const std::uint64_t end = at + out.size();
    if (end > kHead) return RootedDir::read_file(file_, at, out);
    TRY(fill(end));
    if (end > head_.size()) return Error{Code::kChanged, at, "the file is shorter now"};
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
    return out.size();
  }

 private:
  Result<void> fill(std::uint64_t end) const {
    if (end <= head_.size()) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size_, end <= kShortHead ? kShortHead : kHead)));
    ASSIGN_OR_RETURN(const auto got, RootedDir::read_file(file_, 0, bytes));
    bytes.resize(got);
    head_ = std::move(bytes);
    return {};
  }

  const Descriptor& file_;
  const std::uint64_t size_;
  mutable std::vector<std::byte> head_;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

using namespace std::chrono_literals;

constexpr auto kIdle = 30s;  // how long unused objects stay open
constexpr auto kSweep = 10s;

std::string joined(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

}  // namespace

Error as_stale(Error error) { return error.code == Code::kNotFound ? stale_error() : std::move(error); }

Result<FileHandle> MirroredSources::look(const RequestContext& context, const MirroredNode& node) const {
  auto found = of(node).look(context, node.path);
  if (!found) return as_stale(std::move(found).error());
  const bool is_same = node.type == MirroredType::kRecordfs ? found->state.device == node.state.device
                                                            : found->state.is_same_file(node.state);
  if (!is_same || found->is_recordfs != (node.type == MirroredType::kRecordfs)) return stale_error();
  return found;
}

std::string MirroredSources::shown_path(const MirroredNode& node) const {
  if (is_root_) return node.path;
  const std::string& top = directories_[node.source].name;
  return node.path.empty() ? top : top + "/" + node.path;
}

std::uint64_t MirroredSources::inode(const MirroredNode& node) const {
  const std::string path = shown_path(node);
  return path.empty() ? kMountRoot : mirrored_inode(path);
}

std::uint64_t MirroredSources::parent_inode(const MirroredNode& node) const {
  const std::string parent = parent_path(shown_path(node));
  return parent.empty() ? kMountRoot : mirrored_inode(parent);
}

Ownership MirroredSources::ownership_of(MirroredType type, const FileState& state) const {
  Ownership ownership{state.uid, state.gid, state.mode & kOfFiles, state.mode & kOfDirectories, state.modified};
  if (type == MirroredType::kContainer) {
    ownership = container_ownership(state.uid, state.gid, state.mode, state.modified);
  } else if (type == MirroredType::kRecordfs) {
    ownership = {::geteuid(), ::getegid(), ownership.file_mode, kOfDirectories, state.modified};
  }
  if (adjust_) adjust_(ownership);
  return ownership;
}

FileStatus MirroredSources::status_of(const MirroredNode& node, const FileState& state) const {
  const FileType type = shown_type(node.type);
  return {.number = node.number,
          .inode = inode(node),
          .type = type,
          .size = type == FileType::kDirectory ? 0 : state.size,
          .ownership = ownership_of(node.type, state),
          .cache_policy = node.type == MirroredType::kContainer ? CachePolicy::kNumber : CachePolicy::kNone};
}

// Two hashes of the state. A collision of both is less likely than a hardware failure.
Probes::Key Probes::key_of(const FileState& state, std::string_view name) {
  Key key{0x243F6A8885A308D3u, 0x13198A2E03707344u};
  const auto add = [&key](std::uint64_t value) {
    key.first = mixed(key.first, value);
    key.second = mixed(key.second ^ value << 1, value + key.first);
  };
  for (const std::uint64_t value : {state.device, state.inode, state.size}) add(value);
  for (const timespec& time : {state.modified, state.changed}) {
    add(static_cast<std::uint64_t>(time.tv_sec));
    add(static_cast<std::uint64_t>(time.tv_nsec));
  }
  add(std::hash<std::string_view>{}(name));
  return key;
}

std::optional<bool> Probes::find(const FileState& state, std::string_view name) const {
  const Key key = key_of(state, name);
  const std::lock_guard lock(mutex_);
  const auto known = answers_.find(key);
  return known == answers_.end() ? std::nullopt : std::optional(known->second);
}

bool Probes::ask(const Descriptor& file, const FileState& state, std::string_view name, const timespec& now) {
  // May block, because a head is short, and a listing may probe many files.
  auto answer = probe_({}, Head(file, state.size), name);
  // Without memory the file cannot be probed. Callers must not take that for a file that is not a container.
  if (!answer && answer.error().code == Code::kOutOfMemory) throw std::bad_alloc();
  if (!answer) return false;
  if (!state.is_settled(now)) return *answer;
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kMostAnswers) answers_.clear();
  answers_.emplace(key_of(state, name), *answer);
  return *answer;
}

bool Probes::is_container(int directory, const std::string& name, const FileState& state, const timespec& now) {
  if (const auto known = find(state, name)) return *known;
  const auto file = RootedDir::open_file_in(directory, name);
  struct stat st {};
  if (!file || ::fstat(file->number(), &st) != 0 || !state.is_same_file(FileState::of(st))) return false;
  return ask(*file, state, name, now);
}

std::optional<MirroredType> Probes::type_of(const FileHandle& found, int directory, const std::string& name,
                                            const timespec& now) {
  if (found.is_recordfs) return MirroredType::kRecordfs;
  if (S_ISDIR(found.state.mode)) return MirroredType::kDirectory;
  if (S_ISLNK(found.state.mode)) return MirroredType::kLink;
  if (!S_ISREG(found.state.mode)) return std::nullopt;
  if (found.is_container) return *found.is_container ? MirroredType::kContainer : MirroredType::kFile;
  return is_container(directory, name, found.state, now) ? MirroredType::kContainer : MirroredType::kFile;
}

std::optional<FileType> Probes::listed_type(const MirroredListing::Name& entry, const timespec& now) {
  if (entry.type == DT_DIR) return FileType::kDirectory;
  if (entry.type == DT_LNK) return FileType::kLink;
  if (entry.type != DT_REG && entry.type != DT_UNKNOWN) return std::nullopt;
  if (entry.is_container) return *entry.is_container ? FileType::kDirectory : FileType::kRegular;
  if (entry.directory < 0) return FileType::kUnknown;
  const std::string name(entry.name);
  struct stat st {};
  if (::fstatat(entry.directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return std::nullopt;
  const FileHandle found{.descriptor = {}, .state = FileState::of(st)};
  const auto type = type_of(found, entry.directory, name, now);
  if (!type) return std::nullopt;
  return shown_type(*type);
}

Result<std::shared_ptr<Executor>> Closers::start(std::uint64_t filesystem) {
  const std::lock_guard lock(mutex_);
  if (is_ending_) return Error{.code = Code::kInterrupted, .detail = "the mount ends"};
  if (!sweeper_.joinable()) sweeper_ = start_thread([this] { run_sweeps(); });
  auto found = executors_.find(filesystem);
  if (found == executors_.end() && filesystem != 0 && executors_.size() > kMostFilesystems) {
    found = std::prev(executors_.end());
  } else if (found == executors_.end()) {
    found = executors_.emplace(filesystem, std::make_shared<Executor>(1)).first;
  }
  if (!found->second->start()) return out_of_memory("no thread to close files");
  return found->second;
}

void Closers::run_sweeps() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, period_, [this] { return is_ending_; })) {
    lock.unlock();
    sweep_();
    lock.lock();
  }
}

void Closers::stop() {
  decltype(executors_) executors;
  std::thread sweeper;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    executors.swap(executors_);
    sweeper.swap(sweeper_);
  }
  ending_.notify_all();
  if (sweeper.joinable()) sweeper.join();
  for (const auto& [filesystem, executor] : executors) executor->stop();
}

Mirror::Mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root, TreeContext& cache,
               InodeTable& inodes, ContainerSubtree& insides)
    : is_root_(is_root),
      sources_(std::move(directories), is_root, std::move(settings.adjust)),
      open_container_(std::move(settings.open)),
      cache_(cache),
      inodes_(inodes),
      insides_(insides),
      probes_(std::move(settings.probe)),
      closers_(kSweep, [this] { sweep(); }) {
  for (std::size_t source = 0; source < sources_.directories().size(); ++source) {
    const FileState& state = sources_.directories()[source].directory->state();
    numbers_.push_back(inodes_.add_source(source, state, is_root ? std::optional(kRoot) : std::nullopt));
  }
}

Mirror::~Mirror() {
  containers_.clear();
  closers_.stop();
}

void Mirror::sweep() {
  const auto before = std::chrono::steady_clock::now() - kIdle;
  containers_.drop_unused_since(before);
  files_.drop_unused_since(before);
  streams_.drop_unused_since(before);
}

// --- nodes

Result<InodeTable::MirroredPointer> Mirror::node(std::uint64_t number) const {
  auto found = inodes_.find_mirrored(number);
  if (found == nullptr) return stale_error();
  return found;
}

bool Mirror::is_container(std::uint64_t number) const {
  const auto found = inodes_.find_mirrored(number);
  return found != nullptr && found->type == MirroredType::kContainer;
}

std::uint64_t Mirror::inode(const RequestContext&, std::uint64_t number) {
  const auto found = inodes_.find_mirrored(number);
  return found == nullptr || (is_root_ && number == kRoot) ? kRoot : sources_.inode(*found);
}

std::uint64_t Mirror::parent_inode(const RequestContext&, std::uint64_t number) {
  const auto found = inodes_.find_mirrored(number);
  return found == nullptr ? kRoot : sources_.parent_inode(*found);
}

void Mirror::drop(std::uint64_t number) {
  files_.drop(number);
  containers_.drop(number);
  inodes_.remove(number);
}

// --- lookups

Result<Subtree::LookupResult> Mirror::lookup(const RequestContext& context, std::uint64_t directory,
                                             std::string_view name) {
  const timespec now = current_time();  // before the lookup, so that a later change has a later time
  ASSIGN_OR_RETURN(const auto above, node(directory));
  if (above->type == MirroredType::kContainer) return insides_.lookup(context, directory, name);
  if (above->type != MirroredType::kDirectory) return place_error(ENOENT);
  ASSIGN_OR_RETURN(const auto at, sources_.look(context, *above));
  const std::string entry(name);
  ASSIGN_OR_RETURN(const auto found, sources_.of(*above).look_in(context, at, entry));
  const auto type = probes_.type_of(found, at.descriptor.number(), entry, now);
  if (!type) return place_error(ENOENT);
  const auto known = inodes_.look_up_and_reference(above->source, joined(above->path, name), *type, found.state, now);
  return LookupResult{known->number, sources_.status_of(*known, found.state)};
}

Result<FileStatus> Mirror::status(const RequestContext& context, std::uint64_t number) {
  ASSIGN_OR_RETURN(const auto known, node(number));
  const MirroredNode& node = *known;
  if (node.type == MirroredType::kContainer) return sources_.status_of(node, node.state);
  auto found = sources_.look(context, node);
  if (found) return sources_.status_of(node, found->state);
  if (found.error().code == Code::kPending) return std::move(found).error();
  // A reader can continue after the file was removed.
  const auto file = files_.find(number);
  const auto state = file ? (*file)->state() : found.error();
  if (!state) return std::move(found).error();
  return sources_.status_of(node, *state);
}

Result<std::string> Mirror::target(const RequestContext& context, std::uint64_t link) {
  ASSIGN_OR_RETURN(const auto known, node(link));
  if (known->type != MirroredType::kLink) return place_error(ENOENT);
  ASSIGN_OR_RETURN(const auto found, sources_.look(context, *known));
  return sources_.of(*known).target_of(found);
}

// Opens the file that the node means. A container must also be in the same state.
Result<std::unique_ptr<MirroredFile>> Mirror::open(const RequestContext& context, const MirroredNode& node) const {
  auto file = sources_.of(node).open(context, node.path, node.state);
  if (!file) return as_stale(std::move(file).error());
  ASSIGN_OR_RETURN(const auto state, (*file)->state());
  const bool is_it =
      node.type == MirroredType::kContainer ? node.state.is_unchanged(state) : node.state.is_same_file(state);
  if (!is_it) return stale_error();
  return file;
}

Result<std::shared_ptr<const MirroredFile>> Mirror::open_file(const RequestContext& context, const MirroredNode& node) {
  if (auto known = files_.find(node.number)) return *known;
  ASSIGN_OR_RETURN(auto file, open(context, node));
  ASSIGN_OR_RETURN(auto closed, closers_.closed_later(sources_.of(node).filesystem(node.state.device),
                                                      std::unique_ptr<const MirroredFile>(std::move(file))));
  return files_.add(node.number, std::move(closed));
}

Result<Slice> Mirror::read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                           std::uint64_t length) {
  ASSIGN_OR_RETURN(const auto known, node(file));
  if (known->type != MirroredType::kFile) return place_error(ENOENT);
  // Ask in the order in which the path crosses filesystems. The request then waits in the lane of the one that hangs.
  ASSIGN_OR_RETURN(const auto open, open_file(context, *known));
  TRY(sources_.of(*known).may_ask(context, known->state.device));
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(length)));
  ASSIGN_OR_RETURN(const auto got, open->read(context, offset, bytes.span()));
  bytes.truncate(got);
  return owned(std::move(bytes));
}

Result<ContainerOpener::Pointer> Mirror::container(const RequestContext& context, std::uint64_t number) {
  ASSIGN_OR_RETURN(const auto known, node(number));
  const MirroredNode& node = *known;
  if (node.type != MirroredType::kContainer) return place_error(ENOENT);
  if (auto opened_before = containers_.find(number)) return *opened_before;
  ASSIGN_OR_RETURN(auto file, open(context, node));
  ASSIGN_OR_RETURN(auto source, file->source(node.path.substr(node.path.rfind('/') + 1)));
  const std::string& top = sources_.of(node).name();
  ASSIGN_OR_RETURN(const auto store,
                   open_container_(context, std::move(source), top + (top.ends_with('/') ? "" : "/") + node.path));
  const std::string shown_path = sources_.shown_path(node);
  auto opened = std::make_unique<ContainerNode>();
  opened->id = opened->root_number = number;
  opened->ownership = sources_.ownership_of(node.type, node.state);
  opened->set_tree(std::make_shared<const ContainerTree>(store, cache_, number));
  const auto wanted = InodeTable::wanted(shown_path, opened->tree->values());
  const auto begin = inodes_.add(number, wanted);
  if (!begin) return Error{.code = Code::kLimit, .detail = "too many mirrored containers"};
  opened->begin = *begin;
  opened->inode_begin = wanted.begin;
  opened->root_inode = mirrored_inode(shown_path);
  opened->is_mirrored = true;
  ASSIGN_OR_RETURN(auto closed,
                   closers_.closed_later<const ContainerNode>(store->source().filesystem(), std::move(opened)));
  return containers_.add(number, std::move(closed));
}

// --- listings

Result<Subtree::OpenedDirectory> Mirror::open_directory(const RequestContext& context, std::uint64_t directory) {
  ASSIGN_OR_RETURN(const auto known, node(directory));
  if (known->type == MirroredType::kContainer) return OpenedDirectory{.is_constant = true};
  const std::uint64_t opened = next_stream_++;
  if (known->type == MirroredType::kDirectory) TRY(stream(context, directory, opened));
  return OpenedDirectory{.handle = opened};
}

// Places are those of the filesystem, and stay valid if the directory is opened again.
Result<std::shared_ptr<MirroredListing>> Mirror::stream(const RequestContext& context, std::uint64_t directory,
                                                        std::uint64_t opened) {
  if (auto open = streams_.find(opened)) return *open;
  ASSIGN_OR_RETURN(const auto known, node(directory));
  ASSIGN_OR_RETURN(const auto at, sources_.look(context, *known));
  ASSIGN_OR_RETURN(auto made, sources_.of(*known).open_listing(context, at));
  static_cast<void>(closers_.start(0).has_value());  // starts the sweeps
  return streams_.add(opened, std::move(made));
}

Result<void> Mirror::list(const RequestContext& context, std::uint64_t directory, std::uint64_t opened,
                          std::uint64_t place, const EmitEntry& emit) {
  ASSIGN_OR_RETURN(const auto known, node(directory));
  const MirroredNode& node = *known;
  if (node.type != MirroredType::kDirectory) return {};
  ASSIGN_OR_RETURN(const auto from, stream(context, directory, opened));
  TRY(sources_.of(node).may_ask(context, node.state.device));
  const std::string above = sources_.shown_path(node);
  const auto take = [&](const MirroredListing::Name& entry) {
    const bool is_self = entry.name == ".";
    const bool is_dots = is_self || entry.name == "..";
    const auto type = is_dots ? FileType::kDirectory : probes_.listed_type(entry, current_time());
    if (!type) return true;
    const std::uint64_t number = is_self   ? inode(context, directory)
                                 : is_dots ? parent_inode(context, directory)
                                           : mirrored_inode(joined(above, entry.name));
    return emit({.name = entry.name, .inode = number, .type = *type, .next = entry.next});
  };
  return from->read(context, place, take);
}

void Mirror::add_usage(const RequestContext& context, Usage& usage) {
  for (const MirroredDirectory& mirrored : sources_.directories()) mirrored.directory->add_usage(context, usage);
}

}  // namespace recordfs
