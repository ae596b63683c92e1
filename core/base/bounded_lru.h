// A small cache that drops the values that were not used for the longest time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace recordfs {

// Thread-safe. Returns copies of its values. Destroys dropped ones without a lock. If a function throws std::bad_alloc,
// the cache is unchanged.
template <class Key, class Value>
class BoundedLru {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Keeps at most `most` values, whose bytes, as given to add(), are at most `most_bytes` together. One value may
  // exceed that.
  explicit BoundedLru(std::size_t most, std::uint64_t most_bytes = UINT64_MAX) : most_(most), most_bytes_(most_bytes) {}
  BoundedLru(const BoundedLru&) = delete;
  BoundedLru& operator=(const BoundedLru&) = delete;

  std::optional<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    return found == index_.end() ? std::nullopt : used(found->second);
  }
  // Returns the value with the last key that is not after `key`, if `condition` is true for it.
  template <class Condition>
  std::optional<Value> find_last_until(const Key& key, const Condition& condition) {
    const std::lock_guard lock(mutex_);
    const auto after = index_.upper_bound(key);
    if (after == index_.begin()) return std::nullopt;
    const auto entry = std::prev(after)->second;
    return condition(entry->value) ? used(entry) : std::nullopt;
  }

  // Returns `value`, or what another thread has added before.
  Value add(const Key& key, Value value, std::uint64_t bytes = 0) {
    Entries added;
    Entries dropped;
    added.push_back({key, std::move(value), bytes, std::chrono::steady_clock::now()});
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = index_.emplace(key, added.begin());
    if (!is_new) return found->second->value;
    entries_.splice(entries_.begin(), added);
    bytes_ += bytes;
    while (entries_.size() > 1 && (entries_.size() > most_ || bytes_ > most_bytes_)) drop_last(dropped);
    return entries_.front().value;
  }

  void drop(const Key& key) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    entries_.splice(entries_.end(), entries_, found->second);
    drop_last(dropped);
  }
  // Drops the values that were last used before `time`. One with other owners is in use now. REQUIRES: Value is a
  // std::shared_ptr.
  void drop_unused_since(Time time) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    for (std::size_t left = entries_.size(); left > 0 && entries_.back().used_at < time; --left) {
      if (entries_.back().value.use_count() > 1) {
        used(std::prev(entries_.end()));
      } else {
        drop_last(dropped);
      }
    }
  }
  void clear() {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    while (!entries_.empty()) drop_last(dropped);
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    Key key;
    Value value;
    std::uint64_t bytes;
    Time used_at;
  };
  using Entries = std::list<Entry>;  // most recently used first

  std::optional<Value> used(typename Entries::iterator entry) {
    entry->used_at = std::chrono::steady_clock::now();
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->value;
  }
  // Moves the last entry to `dropped`, which the caller destroys without the lock.
  void drop_last(Entries& dropped) {
    index_.erase(entries_.back().key);
    bytes_ -= entries_.back().bytes;
    dropped.splice(dropped.end(), entries_, std::prev(entries_.end()));
  }

  const std::size_t most_;
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;  // guards the following
  Entries entries_;
  std::map<Key, typename Entries::iterator> index_;
  std::uint64_t bytes_ = 0;
};

}  // namespace recordfs
