#include "core/fetch/block_writer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "core/base/thread.h"

namespace recordfs::fetch {
namespace {

constexpr std::size_t kSmall = 1u << 20;                    // bytes that are written before a thread would begin
constexpr std::chrono::milliseconds kPatience{500};         // for one part
constexpr std::uint64_t kLeftOut = std::uint64_t{1} << 28;  // bytes after a part that has taken longer

}  // namespace

struct BlockWriter::Write {
  std::shared_ptr<CachedObject> object{};
  std::uint64_t begin = 0;
  Bytes bytes{};
  std::map<std::uint64_t, std::uint64_t> sums{};
  Clock::time_point end{};
  std::atomic<bool> is_done{false};
  std::atomic<bool> is_left_out{false};
};

BlockWriter::~BlockWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (present_) present_->is_left_out.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

BlockWriter::WritePtr BlockWriter::write(std::shared_ptr<CachedObject> object, std::uint64_t begin, Bytes bytes,
                                         const BlockSums& sums) {
  if (bytes.size() <= kSmall) {
    object->write(begin, bytes, sums);
    return nullptr;
  }
  if (left_out_ > 0) {
    left_out_ -= std::min<std::uint64_t>(left_out_, bytes.size());
    return nullptr;
  }
  if (sums.sums().empty() || !object->make_room(bytes.size())) return nullptr;
  if (!thread_.joinable()) thread_ = start_thread([this] { run(); });
  if (!thread_.joinable()) return nullptr;
  auto write = std::make_shared<Write>();
  write->object = std::move(object);
  write->begin = begin;
  write->bytes = bytes;
  write->sums = sums.sums();
  write->end = Clock::now() + kPatience;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(write);
  }
  changed_.notify_one();
  return write;
}

bool BlockWriter::is_over(Write& write, Clock::time_point now) {
  if (write.is_done.load(std::memory_order_acquire)) return true;
  if (now < write.end) return false;
  write.is_left_out.store(true, std::memory_order_relaxed);
  left_out_ = kLeftOut;
  return true;
}

Clock::time_point BlockWriter::end(const Write& write) { return write.end; }

void BlockWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (is_stopping_) return;
    present_ = std::move(waiting_.front());
    waiting_.pop_front();
    const WritePtr write = present_;
    lock.unlock();
    for (const auto& [block, sum] : write->sums) {
      if (write->is_left_out.load(std::memory_order_relaxed)) break;
      if (!write->object->store(block, sum, write->begin, write->bytes)) break;
    }
    write->object.reset();
    write->is_done.store(true, std::memory_order_release);
    wake_();
    lock.lock();
    present_.reset();
  }
}

}  // namespace recordfs::fetch
