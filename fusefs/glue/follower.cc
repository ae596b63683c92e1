#include "fusefs/glue/follower.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/thread.h"

namespace recordfs {
namespace {

std::vector<std::string> paths_of(const std::vector<std::unique_ptr<FollowedFile>>& files) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const auto& file : files) paths.push_back(file->path());
  return paths;
}

}  // namespace

Follower::Follower(MountedContainers& containers, std::vector<std::unique_ptr<FollowedFile>> files, Log log)
    : containers_(containers), log_(std::move(log)), watch_(paths_of(files)) {
  for (auto& file : files) files_.push_back({.file = std::move(file)});
}

bool Follower::start(fuse_session* session) {
  session_ = session;
  thread_ = start_thread([this] { run(); });
  return thread_.joinable();
}

void Follower::stop() {
  watch_.stop();
  if (thread_.joinable()) thread_.join();
}

void Follower::run() {
  while (!watch_.is_stopped()) {
    const auto begin = std::chrono::steady_clock::now();
    const bool may_rest = look_at_all();
    if (may_rest) watch_.rest(rest_after(std::chrono::steady_clock::now() - begin));
    watch_.wait();
  }
}

// Returns false if a file is still being scanned, and must be checked again without a rest.
bool Follower::look_at_all() {
  for (std::size_t container = 0; container < files_.size(); ++container) {
    try {
      look_at(container);
    } catch (const std::bad_alloc&) {
      // A later check may find memory.
    }
  }
  containers_.drop_unused();
  return std::ranges::none_of(files_, [](const Followed& followed) { return followed.file->is_taking(); });
}

void Follower::look_at(std::size_t container) {
  Followed& followed = files_[container];
  if (followed.is_over) return;
  FollowedFile& file = *followed.file;
  auto grown = file.grow([this] { watch_.wake(); });
  if (!grown) {
    followed.is_over = true;
    log_(Severity::kWarning, fmt::format("{}: no longer followed: {}", file.shown(), grown.error().detail));
    return;
  }
  if (*grown) show(container, *grown);
  if (followed.said_moved || file.is_at_its_path()) return;
  followed.said_moved = true;
  log_(Severity::kInfo,
       fmt::format("{}: moved, removed or replaced; the file that was opened is still followed", file.shown()));
}

// Invalidates attributes only. When the kernel sees the new time, it drops cached data and entries. Invalidating these
// here would wait for their readers, and thus for threads of this mount.
void Follower::show(std::size_t container, const std::shared_ptr<const RecordStore>& store) {
  const FileSource::Status& status = files_[container].file->status();
  const timespec modified{.tv_sec = status.mtime_seconds, .tv_nsec = status.mtime_nanoseconds};
  for (const std::uint64_t number : containers_.grow({}, container, store, modified)) {
    fuse_lowlevel_notify_inval_inode(session_, number, -1, 0);
  }
}

}  // namespace recordfs
