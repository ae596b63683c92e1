// ColumnCounters: counts the columns of records on several threads.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/columns/column_statistics.h"

namespace recordfs {

// Owns as many counters as threads have counted at one time.
class ColumnCounters {
 public:
  // Returns what `count` returns. Calls it with a counter that no other thread has meanwhile. Thread-safe.
  template <typename Count>
  auto with_one(const Count& count) {
    auto counter = spare();
    auto counted = count(*counter);
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(counter));
    return counted;
  }

  // Adds everything that was counted. REQUIRES: no thread counts.
  void add_to(ColumnStatistics& columns) const {
    for (const auto& counter : spare_) columns.add(*counter);
  }

 private:
  std::unique_ptr<ColumnCounter> spare() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<ColumnCounter>();
    auto counter = std::move(spare_.back());
    spare_.pop_back();
    return counter;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<ColumnCounter>> spare_;  // guarded by mutex_
};

}  // namespace recordfs
