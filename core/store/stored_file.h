// What all containers of a process share; and what the parts of a RecordStore share: one open file, and its log.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/kept_bytes.h"
#include "core/base/limits.h"
#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/container.h"
#include "core/store/catalog.h"
#include "core/store/executor.h"
#include "core/store/log.h"
#include "core/store/saved_index.h"
#include "core/store/scanner.h"
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
  class Turn final : public LargeAllocations {
   public:
    // What kGrows allocates belongs to a value that may be cached, so on_taken, which might drop it, is not called.
    enum class For : std::uint8_t { kNewValue, kGrows };
    explicit Turn(DecodeBudget& budget, For purpose = For::kNewValue) : budget_(budget), purpose_(purpose) {}
    ~Turn() override {
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
  bool take(const RequestContext& context, std::uint64_t bytes, Turn::For purpose = Turn::For::kNewValue) {
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); };
      if (!wait_or_cancel(context, returned_, lock, has_room)) return false;
      taken_ += bytes;
    }
    if (on_taken_ && purpose == Turn::For::kNewValue) on_taken_();
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
struct Services {
  explicit Services(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
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

  KeptBytes kept;  // declared before the caches, whose chunks may own a source
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
  bool reads_whole_files = false;  // scans read the bytes between headers too, in large pieces
  unsigned address_bits = 58;      // of a record's address; fewer if containers share one number space
};

// Returns `container` without its unfinished tail. A scan ends there, and reports neither an incomplete chunk nor a
// region of class unfinished. Such a region is reported if anything else follows it. trailer() is not null once the
// trailer can be read. `size` is the size of the container's source.
std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size);

// Immutable. `services` must outlive it. Drops the file's chunks from the caches when it is destroyed.
struct StoredFile {
  StoredFile(std::string file_name, std::shared_ptr<const Source> bytes, std::unique_ptr<const Container> opened,
             Services& shared, bool follows)
      : is_followed(follows),
        name(std::move(file_name)),
        source(std::move(bytes)),
        container(follows ? complete_prefix(std::move(opened), source->size()) : std::move(opened)),
        services(shared),
        budgets(shared.budgets_of(source->filesystem())) {
    services.make_room(0);  // closed files have left room
  }
  ~StoredFile() {
    services.chunks.forget(id);
    services.layouts.forget(id);
  }
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  CacheKey key_of(const ChunkInfo& chunk) const { return {id, chunk.begin}; }
  // Returns Container::layout(), made within the DecodeBudget.
  Result<Layout> make_layout(const RequestContext& context, const ChunkInfo& chunk) const {
    DecodeBudget::Turn turn(budgets.slow);
    return container->layout(context.with(turn), chunk);
  }
  // Returns the cached layout of a chunk, or makes it. Fails like make_layout().
  Result<std::shared_ptr<const Layout>> cached_layout(const RequestContext& context, const ChunkInfo& chunk) const {
    return services.layouts.get(context, key_of(chunk), [&]() -> Result<std::shared_ptr<const Layout>> {
      ASSIGN_OR_RETURN(auto made, make_layout(context, chunk));
      services.make_room(made.memory());
      return std::make_shared<const Layout>(std::move(made));
    });
  }
  // For scans. Caches the layouts of small chunks, because a listing with sizes needs each of them next.
  MakeLayout layout_maker() const {
    return [this](const RequestContext& context, const ChunkInfo& chunk) -> Result<std::shared_ptr<const Layout>> {
      if (chunk.stored_size <= kSmallChunk) return cached_layout(context, chunk);
      ASSIGN_OR_RETURN(auto layout, make_layout(context, chunk));
      return std::make_shared<const Layout>(std::move(layout));
    };
  }

  static constexpr std::uint64_t kSmallChunk = 64u << 10;
  static inline std::atomic<std::uint64_t> next_id{1};

  const std::uint64_t id = next_id.fetch_add(1);
  const bool is_followed;
  const std::string name;  // in log lines and errors
  const std::shared_ptr<const Source> source;
  const std::unique_ptr<const Container> container;
  Services& services;
  DecodeBudgets& budgets;
};

// Returns "3 records lost"; if the number is unknown, "at least 1 record lost", or "records may be lost".
std::string loss_text(const std::optional<std::uint64_t>& records, std::uint64_t at_least);

// Returns "bytes 10 to 20: damage: checksum mismatch; 3 records lost".
std::string damage_line(const DamagedRegion& region);

// Logs what is wrong with one file, once for each place. Thread-safe.
class DamageLog {
 public:
  // `shorter`: the log of the same file when it was shorter, whose lines are not repeated; null: none. `file` must
  // outlive this.
  DamageLog(const StoredFile& file, const DamageLog* shorter);

  // Logs a failure, at most once per place in the file; `thing` distinguishes several at one place. Permanent failures
  // and others count separately. Does not log kPending, kInterrupted, or refused work. After 1024 places, logs no more.
  void report(const RequestContext& context, const Error& error, std::uint64_t thing = 0);
  // Logs a damaged region as damage_line(), likewise.
  void report(const DamagedRegion& region);
  // Returns `outcome`, and reports its failure unless it is kNotFound.
  template <class T>
  Result<T> reported(const RequestContext& context, Result<T> outcome) {
    if (!outcome && outcome.error().code != Code::kNotFound) report(context, outcome.error());
    return outcome;
  }

  // Log, once each, that the file has grown, and that it has no name any more; neither is shown. Do nothing for a
  // followed file.
  void report_growth();
  void report_removal();
  // Returns a function that logs the duration of a scan.
  Catalog::OnScanned scan_logger(std::string_view of_what) const;

 private:
  struct Reported {
    Position position = 0;
    std::uint64_t thing = 0;
    enum class Lasts : std::uint8_t { kForGood, kMaybeNot } lasts = Lasts::kForGood;  // logged separately
    auto operator<=>(const Reported&) const = default;
  };

  void report(Severity severity, Reported what, const std::string& text, bool is_damage = true);
  std::set<Reported> reported() const;

  const StoredFile& file_;
  void report_once(std::atomic<bool>& was_reported, std::string_view what);

  std::atomic<bool> logged_growth_{false};
  std::atomic<bool> logged_removal_{false};
  mutable std::mutex mutex_;  // guards the next
  std::set<Reported> reported_;
};

}  // namespace recordfs
