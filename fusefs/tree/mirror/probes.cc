#include "fusefs/tree/mirror/probes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

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

}  // namespace

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

std::optional<MirroredType> Probes::type_of(const Looked& found, int directory, const std::string& name,
                                            const timespec& now) {
  if (found.is_recordfs) return MirroredType::kRecordfs;
  if (S_ISDIR(found.state.mode)) return MirroredType::kDirectory;
  if (S_ISLNK(found.state.mode)) return MirroredType::kLink;
  if (!S_ISREG(found.state.mode)) return std::nullopt;
  return is_container(directory, name, found.state, now) ? MirroredType::kContainer : MirroredType::kFile;
}

std::optional<FileType> Probes::listed_type(int directory, const DirectoryStream::Name& entry, const timespec& now) {
  if (entry.type == DT_DIR) return FileType::kDirectory;
  if (entry.type == DT_LNK) return FileType::kLink;
  if (entry.type != DT_REG && entry.type != DT_UNKNOWN) return std::nullopt;
  const std::string name(entry.name);
  struct stat st {};
  if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return std::nullopt;
  const auto type = type_of({.descriptor = {}, .state = FileState::of(st)}, directory, name, now);
  if (!type) return std::nullopt;
  return shown_type(*type);
}

}  // namespace recordfs
