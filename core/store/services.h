// What all containers of a process share.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/cancellable_mutex.h"
#include "core/base/request_context.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/store/executor.h"
#include "core/store/key_index.h"
#include "core/store/log.h"
#include "core/store/saved_index.h"
#include "core/store/shared_cache.h"

namespace recordfs {

// Bounds how much is decoded at the same time. Values that are being made do not count in a cache. Threads that make
// large ones take shares of this budget, and wait if it is used up. Thread-safe.
class DecodeBudget {
 public:
  // `on_taken` runs after each share was taken, without a lock, on the thread that took it. It can free cached values.
  explicit DecodeBudget(std::uint64_t bytes, std::function<void()> on_taken = {})
      : limit_(std::max<std::uint64_t>(bytes, 1)), on_taken_(std::move(on_taken)) {}

  // Scoped: a share of the budget. Construction blocks until enough is left, or no other share exists; so one share may
  // exceed the budget. Stops waiting if the request is cancelled; the caller must check for that.
  class Share {
   public:
    Share(const RequestContext& context, DecodeBudget& budget, std::uint64_t bytes)
        : budget_(budget), bytes_(bytes), has_it_(budget_.take(context, bytes_)) {}
    ~Share() {
      if (has_it_) budget_.give_back(bytes_);
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    DecodeBudget& budget_;
    const std::uint64_t bytes_;
    const bool has_it_;
  };

  // Scoped, for work whose memory is unknown, in a context that has this (RequestContext::with()). Takes nothing until
  // the first large allocation, which blocks until it has the whole budget. Stops waiting like Share. REQUIRES: the
  // thread has no Share of this budget.
  class Turn final : public LargeAllocations {
   public:
    explicit Turn(DecodeBudget& budget) : budget_(budget) {}
    ~Turn() override {
      if (has_it_) budget_.give_back(budget_.limit_);
    }

   private:
    void on_large_allocation(const RequestContext& context) override {
      if (!has_it_) has_it_ = budget_.take(context, budget_.limit_);
    }

    DecodeBudget& budget_;
    bool has_it_ = false;
  };

 private:
  // Returns false if the request was cancelled.
  bool take(const RequestContext& context, std::uint64_t bytes) {
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); };
      if (!wait_or_cancel(context, returned_, lock, has_room)) return false;
      taken_ += bytes;
    }
    if (on_taken_) on_taken_();
    return true;
  }
  void give_back(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    returned_.notify_all();
  }

  const std::uint64_t limit_;
  const std::function<void()> on_taken_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t taken_ = 0;
};

struct DecodeBudgets {
  DecodeBudgets(std::uint64_t bytes, std::function<void()> on_slow) : small(bytes), slow(bytes, std::move(on_slow)) {}

  DecodeBudget small;  // for large chunks whose decoding is not slow, so that slow ones do not delay them
  DecodeBudget slow;   // for all others; a new share drops cached values that exceed the cache's capacity
};

// A decoded chunk, with what was known of it when it was decoded.
struct CachedChunk {
  ChunkInfo info;
  std::shared_ptr<const Chunk> chunk;
  std::uint64_t memory() const { return sizeof(*this) + chunk->memory(); }
};

// Bounds the caches: `cache_bytes` are split 7:1 between chunks and layouts.
struct Services {
  explicit Services(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
      : chunks(cache_bytes - cache_bytes / 8), layouts(cache_bytes / 8), executor(threads), log(std::move(log_lines)) {}

  // Returns the budgets for a filesystem, as in Source::filesystem(). Each budget is as large as both caches together.
  // If one filesystem hangs, its shares do not delay the others. Any thread.
  DecodeBudgets& budgets_of(std::uint64_t filesystem) {
    const std::lock_guard lock(budgets_mutex);
    const auto forget_excess = [this] {
      chunks.forget_excess();
      layouts.forget_excess();
    };
    return budgets.try_emplace(filesystem, chunks.capacity() + layouts.capacity(), forget_excess).first->second;
  }

  SharedCache<CachedChunk> chunks;
  SharedCache<Layout> layouts;
  std::mutex budgets_mutex;  // guards the next
  std::map<std::uint64_t, DecodeBudgets> budgets;
  Executor executor;  // declared after the caches, which its tasks use
  Log log;
  std::optional<IndexLocation> index;           // where to save indexes; nullopt: nowhere
  KeyIndex::Bounds keys;                        // of each container
  std::atomic<std::uint64_t> decoded_bytes{0};  // of all decoded chunks; of a chunk read on demand, its full size
  bool reads_whole_files = false;               // scans read the bytes between headers too, in large pieces
  unsigned address_bits = 58;                   // of a record's address; fewer if containers share one number space
};

}  // namespace recordfs
