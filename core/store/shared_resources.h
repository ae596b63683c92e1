// What all containers of a process share: caches, threads, budgets and the log.
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
#include "core/base/limits.h"
#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/base/scan_cache.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/store/executor.h"
#include "core/store/log.h"
#include "core/store/saved_index.h"
#include "core/store/shared_cache.h"

namespace recordfs {

// Bounds how much is decoded at the same time. Values that are being made do not count in a cache. Threads that make
// large ones take shares of this budget, and wait if it is used up. Thread-safe.
class DecodeBudget {
 public:
  // `on_taken` runs after a share was taken for a new value, without a lock, on the thread that took it. It can free
  // cached values.
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
  class DeferredReservation final : public LargeAllocations {
   public:
    // What kGrows allocates belongs to a value that may be cached, so on_taken, which might drop it, is not called.
    enum class For : std::uint8_t { kNewValue, kGrows };
    explicit DeferredReservation(DecodeBudget& budget, For purpose = For::kNewValue)
        : budget_(budget), purpose_(purpose) {}
    ~DeferredReservation() override {
      if (has_it_) budget_.give_back(budget_.limit_);
    }

   private:
    void on_large_allocation(const RequestContext& context) override {
      if (!has_it_) has_it_ = budget_.take(context, budget_.limit_, purpose_);
    }

    DecodeBudget& budget_;
    const For purpose_;
    bool has_it_ = false;
  };

 private:
  // Returns false if the request was cancelled.
  bool take(const RequestContext& context, std::uint64_t bytes,
            DeferredReservation::For purpose = DeferredReservation::For::kNewValue) {
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); };
      if (!wait_or_cancel(context, returned_, lock, has_room)) return false;
      taken_ += bytes;
    }
    if (on_taken_ && purpose == DeferredReservation::For::kNewValue) on_taken_();
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

// Bounds the caches: `cache_bytes` are split 7:1 between chunks and layouts. Bytes that a scan has read are kept in
// what both leave.
struct StoreResources {
  explicit StoreResources(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
      : kept(cache_bytes),
        chunks(cache_bytes - cache_bytes / 8),
        layouts(cache_bytes / 8),
        executor(threads),
        log(std::move(log_lines)) {}

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

  // Frees kept bytes, so that all caches stay within their bounds when `bytes` more are cached. Any thread.
  void make_room(std::uint64_t bytes) {
    const std::uint64_t all = chunks.capacity() + layouts.capacity();
    kept.set_limit(all - std::min(all, chunks.statistics().bytes + layouts.statistics().bytes + bytes));
  }

  // Returns the source of a file that is opened.
  std::shared_ptr<const WindowedSource> windowed(std::shared_ptr<const Source> file) {
    using OnUnreadable = WindowedSource::OnUnreadable;
    const bool finds = finds_unreadable == FindsUnreadable::kAll ||
                       (finds_unreadable == FindsUnreadable::kLocal && file->filesystem() == 0);
    return std::make_shared<const WindowedSource>(std::move(file), keeps_scanned ? &kept : nullptr,
                                                  finds ? OnUnreadable::kFind : OnUnreadable::kFail);
  }

  ScanCache kept;  // declared before the caches, whose chunks may own a source
  SharedCache<CachedChunk> chunks;
  SharedCache<Layout> layouts;
  std::mutex budgets_mutex;  // guards the next
  std::map<std::uint64_t, DecodeBudgets> budgets;
  Executor executor;  // declared after the caches, which its tasks use
  Log log;
  std::optional<IndexLocation> index;            // where to save indexes; nullopt: nowhere
  Limits limits;                                 // of what one scan decodes
  std::atomic<std::uint64_t> decoded_bytes{0};   // of all decoded chunks; of a chunk read on demand, its full size
  std::atomic<std::uint64_t> damaged_places{0};  // of all files: places that a DamageLog has logged; missing shards
  bool keeps_scanned = false;                    // files opened from now on keep bytes for reads after a scan
  // Which files that are opened from now on look for bytes that cannot be read. Other files fail each read of such
  // bytes with kIo, because a read of a network filesystem may succeed the next time.
  enum class FindsUnreadable : std::uint8_t { kNone, kLocal, kAll } finds_unreadable = FindsUnreadable::kNone;
  bool reports_ahead = true;       // CatalogBounds; of files opened from now on
  RemoteScanLimit remote_scans{};  // of files opened from now on
  bool reads_whole_files = false;  // scans read the bytes between headers too, in large pieces
  unsigned address_bits = 58;      // of a record's address; fewer if containers share one number space
};

}  // namespace recordfs
