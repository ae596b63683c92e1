// Tells whether files change while they are read.
#pragma once

#include <algorithm>
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

 private:
  std::vector<std::pair<std::shared_ptr<const Source>, std::uint64_t>> files_;
};

}  // namespace recordfs::database
