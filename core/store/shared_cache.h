// A byte-bounded LRU cache of immutable values with single-flight creation.
//
// Callers share ownership of values, so a value in use is never freed. The cache drops the least recently used values
// to keep its bound. Permanent failures (is_permanent()) are cached like values. Thread-safe.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/cancellable_mutex.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/thrown.h"

namespace recordfs {

// Identifies a chunk of an open container.
struct CacheKey {
  std::uint64_t container = 0;
  Position begin = 0;
  auto operator<=>(const CacheKey&) const = default;
};

template <class Value>
class SharedCache {
 public:
  using Pointer = std::shared_ptr<const Value>;
  using Make = std::function<Result<Pointer>()>;

  struct Statistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t bytes = 0;  // of cached values
  };

  // `capacity` is in bytes, as counted by Value::memory(). A single value may exceed it. Several containers may share a
  // cache.
  explicit SharedCache(std::uint64_t capacity) : capacity_(capacity) {}
  SharedCache(const SharedCache&) = delete;
  SharedCache& operator=(const SharedCache&) = delete;

  std::uint64_t capacity() const { return capacity_; }

  // Returns the cached value of `key`, or calls `make` on this thread. If another thread makes the value, blocks until
  // it has. Fails and throws like `make`, fails with kInterrupted if the request is cancelled, and with kPending if the
  // other thread may do work that this one may not.
  Result<Pointer> get(const RequestContext& context, const CacheKey& key, const Make& make) {
    Entries dropped;
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = index_.find(key);
      if (found == index_.end()) break;
      const auto entry = found->second;
      if (entry->outcome) {
        ++statistics_.hits;
        entries_.splice(entries_.begin(), entries_, entry);
        return *entry->outcome;
      }
      const std::shared_ptr<const Making> making = entry->making;
      if (auto waited = wait_for(context, *making, lock); !waited) return std::move(waited).error();
    }
    ++statistics_.misses;
    const auto entry = begin_entry(context, key);
    lock.unlock();
    Result<Pointer> outcome = out_of_memory("no memory");
    error_thrown_by([&] { outcome = make(); });
    lock.lock();
    finish(context, entry, std::move(outcome), dropped);  // releases the waiting threads
    return *entry->outcome;
  }

  // Returns the value or failure if it is cached. Does not block.
  std::optional<Result<Pointer>> peek(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end() || !found->second->outcome) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return *found->second->outcome;
  }

  // Returns the value with the last key of the same container that is not after `key`; null if that key has none now.
  // Does not block.
  Pointer last_until(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    auto found = index_.upper_bound(key);
    if (found == index_.begin()) return nullptr;
    --found;
    const auto entry = found->second;
    if (found->first.container != key.container || !entry->outcome || !*entry->outcome) return nullptr;
    ++statistics_.hits;
    entries_.splice(entries_.begin(), entries_, entry);
    return **entry->outcome;
  }

  // Returns whether the value is cached or being made.
  bool contains(const CacheKey& key) const {
    const std::lock_guard lock(mutex_);
    return index_.contains(key);
  }

  void forget(const CacheKey& key) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found != index_.end() && found->second->outcome) drop(found->second, dropped);
  }

  // Drops values until the capacity is kept, even a single value that exceeds it.
  void forget_excess() {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    shrink(false, dropped);
  }

  void forget(std::uint64_t container) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto candidate = entry++;
      if (candidate->key.container == container && candidate->outcome) drop(candidate, dropped);
    }
  }

  Statistics statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  // The state of a value that is being made, for the threads that wait for it.
  struct Making {
    const RequestContext::Permission permission;  // of the request that makes it
    bool is_over = false;
    RequestContext::Permission refused =
        RequestContext::Permission::kNonBlocking;  // the permission that it lacked, if it failed
  };
  struct Entry {
    CacheKey key;
    std::optional<Result<Pointer>> outcome;  // nullopt: being made
    std::uint64_t cost = 0;
    std::shared_ptr<Making> making{};  // null: made
  };
  using Entries = std::list<Entry>;  // most recently used first

  // Blocks until the value was made, or fails.
  Result<void> wait_for(const RequestContext& context, const Making& making, std::unique_lock<std::mutex>& lock) {
    if (auto permitted = context.permit(making.permission); !permitted) return permitted;
    const bool is_over = wait_or_cancel(context, made_, lock, [&] { return making.is_over; });
    return context.permit(is_over ? making.refused : RequestContext::Permission::kAny);
  }
  // Has no effect if it throws std::bad_alloc.
  typename Entries::iterator begin_entry(const RequestContext& context, const CacheKey& key) {
    Entries one;
    one.push_front(
        {.key = key, .outcome = std::nullopt, .making = std::make_shared<Making>(Making{context.permission()})});
    index_.emplace(key, one.begin());
    entries_.splice(entries_.begin(), one);
    return entries_.begin();
  }
  // Does not allocate memory. `entry` stays valid as long as `dropped`.
  void finish(const RequestContext& context, typename Entries::iterator entry, Result<Pointer> outcome,
              Entries& dropped) {
    entry->making->is_over = true;
    if (!outcome) entry->making->refused = context.refused();
    entry->making.reset();
    entry->outcome = std::move(outcome);
    const Result<Pointer>& made = *entry->outcome;
    if (made || is_permanent(made.error().code)) {
      entry->cost = kEntryCost + (made ? (*made)->memory() : made.error().detail.size());
      statistics_.bytes += entry->cost;
      shrink(true, dropped);
    } else {
      drop(entry, dropped);
    }
    made_.notify_all();
  }
  void shrink(bool keeps_first, Entries& dropped) {
    auto entry = entries_.end();
    while (statistics_.bytes > capacity_ && entry != entries_.begin()) {
      --entry;
      if (keeps_first && entry == entries_.begin()) return;
      if (!entry->outcome) continue;
      const auto victim = entry++;
      drop(victim, dropped);
    }
  }
  // Moves an entry to `dropped`, which the caller destroys without the lock, because freeing memory is slow.
  void drop(typename Entries::iterator entry, Entries& dropped) {
    statistics_.bytes -= entry->cost;
    index_.erase(entry->key);
    dropped.splice(dropped.begin(), entries_, entry);
  }

  static constexpr std::uint64_t kEntryCost = 200;

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  Entries entries_;
  std::map<CacheKey, typename Entries::iterator> index_;
  Statistics statistics_;
};

}  // namespace recordfs
