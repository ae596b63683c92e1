#include "fusefs/tree/mirror/closers.h"

#include <iterator>

#include "core/base/thread.h"

namespace recordfs {

Result<std::shared_ptr<Executor>> Closers::start(std::uint64_t filesystem) {
  const std::lock_guard lock(mutex_);
  if (!is_ending_ && !sweeper_.joinable()) sweeper_ = start_thread([this] { run_sweeps(); });
  auto found = executors_.find(filesystem);
  if (found == executors_.end() && filesystem != 0 && executors_.size() > kMostFilesystems) {
    found = std::prev(executors_.end());
  } else if (found == executors_.end()) {
    found = executors_.emplace(filesystem, std::make_shared<Executor>(1)).first;
  }
  if (!found->second->start()) return shortage("no thread to close files");
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
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
  for (const auto& [filesystem, executor] : executors_) executor->stop();
}

}  // namespace recordfs
