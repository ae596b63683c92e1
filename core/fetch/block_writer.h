// Writes blocks to the disk cache while the network goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/bytes.h"
#include "core/fetch/block_sums.h"
#include "core/fetch/disk_cache.h"
#include "core/fetch/exchange.h"

namespace recordfs::fetch {

// A thread that writes, one part after the other. The cache is of use only if it costs less than the network: when a
// disk is slow, parts are left out. All functions are for the thread that owns it.
class BlockWriter {
 public:
  // A part that is being written, or waits for that.
  struct Write;
  using WritePtr = std::shared_ptr<Write>;

  // `wake` is called by the thread when a write is over. It must outlive the object.
  explicit BlockWriter(std::function<void()> wake) : wake_(std::move(wake)) {}
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // Stores the blocks that `sums` has, as CachedObject::write() does. Small parts are written at once. Returns null if
  // nothing is left to wait for. `bytes` must not change until the write is over; if they do, their blocks are not
  // used.
  WritePtr write(std::shared_ptr<CachedObject> object, std::uint64_t begin, Bytes bytes, const BlockSums& sums);
  // Returns whether a write is over. After its end(), this leaves out what is left of it.
  bool is_over(Write& write, Clock::time_point now);
  static Clock::time_point end(const Write& write);

 private:
  void run();

  const std::function<void()> wake_;
  std::uint64_t left_out_ = 0;  // bytes to leave out, because the disk was slow
  std::thread thread_{};

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<WritePtr> waiting_;
  WritePtr present_;
  bool is_stopping_ = false;
};

}  // namespace recordfs::fetch
