// FirstIndex: finds an element of a list by its key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace recordfs {

// A search index over a list of keys in any order. Immutable and thread-safe.
template <class Key>
class FirstIndex {
 public:
  FirstIndex() = default;
  explicit FirstIndex(std::vector<Key> keys) {
    sorted_.reserve(keys.size());
    for (Key& key : keys) sorted_.emplace_back(std::move(key), sorted_.size());
    std::ranges::stable_sort(sorted_, {}, &Entry::first);
  }

  // Returns the index of the first element with that key, in logarithmic time.
  std::optional<std::size_t> find(const Key& key) const {
    const auto found = std::ranges::lower_bound(sorted_, key, {}, &Entry::first);
    if (found == sorted_.end() || key < found->first) return std::nullopt;
    return found->second;
  }

 private:
  using Entry = std::pair<Key, std::size_t>;
  std::vector<Entry> sorted_;
};

}  // namespace recordfs
