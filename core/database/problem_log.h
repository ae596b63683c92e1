// Collects what was found wrong, each thing once.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/database/database.h"

namespace recordfs::database {

// Thread-safe.
class ProblemLog {
 public:
  // Keeps at most kMost problems.
  void add(Problem problem) {
    const std::lock_guard lock(mutex_);
    if (problems_.size() == kMost) return;
    if (!known_.emplace(problem.file, problem.error.position, problem.error.detail).second) return;
    problems_.push_back(std::move(problem));
  }
  std::vector<Problem> all() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }

 private:
  static constexpr std::size_t kMost = 65536;

  mutable std::mutex mutex_;  // guards the following
  std::vector<Problem> problems_;
  std::set<std::tuple<std::string, Position, std::string>> known_;
};

}  // namespace recordfs::database
