// Collects what was found wrong, each thing once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/database/database.h"
#include "core/database/directory.h"

namespace recordfs::database {

// Thread-safe.
class ProblemLog {
 public:
  // Keeps at most kMost problems. Those without a loss leave room for others.
  void add(Problem problem) {
    const std::lock_guard lock(mutex_);
    if (problems_.size() >= (problem.loses_data ? kMost : kMost / 2)) return;
    if (!known_.emplace(problem.file, problem.error.position, problem.error.detail).second) return;
    problems_.push_back(std::move(problem));
  }

  // Returns first those of CURRENT, the MANIFEST and the database as a whole, in the order in which they were found;
  // then the others by file and position, because threads find them in any order.
  std::vector<Problem> all() const {
    std::vector<Problem> all;
    {
      const std::lock_guard lock(mutex_);
      all = problems_;
    }
    const auto others = std::stable_partition(all.begin(), all.end(), is_about_all);
    std::sort(others, all.end(), [](const Problem& one, const Problem& other) {
      return std::tie(one.file, one.error.position, one.error.detail) <
             std::tie(other.file, other.error.position, other.error.detail);
    });
    return all;
  }

 private:
  static constexpr std::size_t kMost = 65536;

  static bool is_about_all(const Problem& problem) {
    const FileKind kind = parse_file_name(problem.file).kind;
    return problem.file.empty() || kind == FileKind::kCurrent || kind == FileKind::kManifest;
  }

  mutable std::mutex mutex_;  // guards the following
  std::vector<Problem> problems_;
  std::set<std::tuple<std::string, Position, std::string>> known_;
};

}  // namespace recordfs::database
