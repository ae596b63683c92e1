#include "tests/bench/floorfs/pusher.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace recordfs::bench {

Pusher::Pusher(const Tree& tree, fuse_session* session, unsigned window)
    : tree_(tree), session_(session), window_(window) {
  if (window_ != 0) thread_ = std::thread([this] { run(); });
}

Pusher::~Pusher() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Pusher::follows(std::uint64_t ordinal) const {
  return ordinal == last_read_ + 1 || (ordinal > last_read_ && ordinal <= pushed_until_);
}

void Pusher::note_read(std::uint64_t ordinal) {
  if (window_ == 0) return;
  const std::scoped_lock lock(mutex_);
  const bool in_order = follows(ordinal);
  last_read_ = ordinal;
  if (!in_order) {
    pushed_until_ = 0;
    return;
  }
  // At least half of the window is still ahead of the reader.
  if (pushed_until_ > ordinal + window_ / 2) return;
  const std::uint64_t begin = std::max(pushed_until_, ordinal + 1);
  const std::uint64_t end = std::min(ordinal + 1 + window_, tree_.siblings(ordinal).end);
  if (begin >= end) return;
  pushed_until_ = end;
  next_ = Siblings{begin, end};
  wanted_.notify_one();
}

void Pusher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return stopping_ || next_.has_value(); });
    if (stopping_) return;
    const Siblings stretch = *std::exchange(next_, std::nullopt);
    lock.unlock();
    push(stretch);
    lock.lock();
  }
}

void Pusher::push(Siblings stretch) {
  for (std::uint64_t ordinal = stretch.begin; ordinal < stretch.end; ++ordinal) {
    const Inode inode = Tree::record_inode(ordinal);
    const std::string_view contents = tree_.contents(inode);
    fuse_bufvec bytes = FUSE_BUFVEC_INIT(contents.size());
    bytes.buf[0].mem = const_cast<char*>(contents.data());
    // The kernel does not know the inode: it was not listed with attributes, and neither were the following ones.
    if (fuse_lowlevel_notify_store(session_, inode, 0, &bytes, fuse_buf_copy_flags{}) != 0) return;
  }
}

}  // namespace recordfs::bench
