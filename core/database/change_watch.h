// Tells whether files change while they are read.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/source.h"

namespace recordfs::database {

// One thread.
class ChangeWatch {
 public:
  void add(std::shared_ptr<const Source> file) {
    const std::uint64_t generation = file->generation();
    files_.emplace_back(std::move(file), generation);
  }
  // Returns whether a file was touched since it was added, or cannot be compared.
  bool has_changed(const RequestContext& context) const {
    return std::ranges::any_of(files_, [&](const auto& file) {
      return !file.first->check_unchanged(context) || file.first->generation() != file.second;
    });
  }
  // Returns whether a file was changed less than `seconds` ago, so that a program may be about to write more.
  bool is_recent(std::int64_t seconds) const {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return std::ranges::any_of(files_, [&](const auto& file) {
      const auto modified = file.first->modified();
      return modified && now - modified->tv_sec < seconds;
    });
  }

 private:
  std::vector<std::pair<std::shared_ptr<const Source>, std::uint64_t>> files_;
};

}  // namespace recordfs::database
