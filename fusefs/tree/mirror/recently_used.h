// RecentlyUsed: a small cache of objects that are expensive to open.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace recordfs {

// Thread-safe. A dropped object is destroyed by the thread that releases its last pointer.
template <class Value>
class RecentlyUsed {
 public:
  using Pointer = std::shared_ptr<Value>;
  using Time = std::chrono::steady_clock::time_point;

  // Keeps at most `most` objects. Lookups search linearly.
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  // Returns null if there is no such object.
  Pointer find(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found == entries_.end()) return nullptr;
    found->used_at = std::chrono::steady_clock::now();
    return found->value;
  }

  // Returns `value`, or what another thread has added before.
  Pointer add(std::uint64_t key, Pointer value) {
    Pointer dropped;  // destroyed after unlocking
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found != entries_.end()) return found->value;
    const Entry entry{key, std::move(value), std::chrono::steady_clock::now()};
    if (entries_.size() < most_) {
      entries_.push_back(entry);
    } else {
      Entry& oldest = *std::ranges::min_element(entries_, {}, &Entry::used_at);
      dropped = std::exchange(oldest, entry).value;
    }
    return entry.value;
  }

  void drop(std::uint64_t key) {
    drop_if([key](const Entry& entry) { return entry.key == key; });
  }
  void drop_unused_since(Time time) {
    drop_if([time](const Entry& entry) { return entry.used_at < time; });
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    Pointer value;
    Time used_at;
  };

  // Drops one at a time, because a list of them would need memory.
  template <class Condition>
  void drop_if(const Condition& condition) {
    for (Pointer dropped;; dropped.reset()) {  // destroyed after unlocking
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find_if(entries_, condition);
      if (found == entries_.end()) return;
      dropped = std::move(found->value);
      entries_.erase(found);
    }
  }

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace recordfs
