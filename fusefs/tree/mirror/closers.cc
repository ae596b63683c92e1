#include "fusefs/tree/mirror/closers.h"

#include <iterator>
#include <stop_token>

namespace recordfs {

Result<std::shared_ptr<Executor>> Closers::start(std::uint64_t filesystem) {
  const auto sweep_until = [this](const std::stop_token& end) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    while (!ending_.wait_for(lock, end, period_, [&end] { return end.stop_requested(); })) sweep_();
  };
  const std::lock_guard lock(mutex_);
  if (!sweeper_.joinable()) start_thread([&] { sweeper_ = std::jthread(sweep_until); });
  auto found = executors_.find(filesystem);
  if (found == executors_.end() && filesystem != 0 && executors_.size() > kMostFilesystems) {
    found = std::prev(executors_.end());
  } else if (found == executors_.end()) {
    found = executors_.emplace(filesystem, std::make_shared<Executor>(1)).first;
  }
  if (!found->second->start()) return shortage("no thread to close files");
  return found->second;
}

void Closers::stop() {
  sweeper_ = {};
  for (const auto& [filesystem, executor] : executors_) executor->stop();
}

}  // namespace recordfs
