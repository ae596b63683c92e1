// Deletions of key ranges, found by a key that they contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/database/database.h"
#include "core/database/key_order.h"
#include "core/database/sequence_ranges.h"

namespace recordfs::database {

struct RangeDeletion {
  std::string begin;  // after finish(), users' keys; before that, as stored
  std::string end;    // not deleted itself
  std::uint64_t sequence = 0;
  std::uint64_t timestamp = 0;  // of those in `begin` and `end`
};

// Immutable after finish(), then readable from any thread.
class RangeDeletions {
 public:
  RangeDeletions() = default;
  RangeDeletions(RangeDeletions&&) = default;
  RangeDeletions& operator=(RangeDeletions&&) = default;
  RangeDeletions(const RangeDeletions&) = delete;
  RangeDeletions& operator=(const RangeDeletions&) = delete;
  ~RangeDeletions() = default;

  void add(RangeDeletion deletion) { deletions_.push_back(std::move(deletion)); }
  // Drops deletions with the numbers of `hidden`. Before finish().
  void hide(const SequenceRanges& hidden) {
    std::erase_if(deletions_, [&](const RangeDeletion& deletion) { return hidden.contains(deletion.sequence); });
  }
  // Called once, after the last add(). An order that is not known makes all deletions ineffective. `order` is that of
  // the stored keys. Later functions take users' keys.
  void finish(const KeyOrder& order);
  // Return the numbers of deletions without effect: since the order is not known, and since the range ends before it
  // begins, as in another order than the given one. After finish().
  std::size_t ineffective() const { return ineffective_; }
  // Returns the sequence number of the newest one of those; 0 if there is none.
  std::uint64_t newest_ineffective() const { return newest_ineffective_; }
  std::size_t reversed() const { return reversed_; }

  // Returns the first and the last key of all deletions. REQUIRES: !empty(), after finish().
  std::pair<std::string, std::string> bounds() const;

  // Returns the sequence number of the newest one; 0 if there is none. After finish().
  std::uint64_t largest_sequence() const { return largest_sequence_; }

  bool empty() const { return deletions_.empty(); }
  std::size_t size() const { return deletions_.size(); }
  std::size_t memory() const;

  // Calls `take` with each deletion that contains `key`.
  template <class Take>
  void for_each_over(Bytes key, const Take& take) const {
    if (!deletions_.empty()) visit(0, deletions_.size(), key, take);
  }
  // Returns the newest deletion of `key` that is not newer than `at`; null if there is none. Takes time logarithmic in
  // the number of deletions, except for the first key with another `at` than before.
  const RangeDeletion* find_newest(Bytes key, std::uint64_t at) const;
  // Returns the sequence number of the newest deletion of `key` that `at` sees; nullopt if there is none. As fast,
  // unless `at` is a timestamp.
  std::optional<std::uint64_t> newest_over(Bytes key, const Snapshot& at) const;

 private:
  // The newest deletion of each key, as of one sequence number.
  class Newest;
  struct LastNewest;

  // The deletions from `low` to before `high` are a tree: the one in the middle is its root.
  static std::size_t middle_of(std::size_t low, std::size_t high) { return low + (high - low) / 2; }
  std::size_t find_last(std::size_t low, std::size_t high);
  std::shared_ptr<const Newest> newest_at(std::uint64_t at) const;

  template <class Take>
  void visit(std::size_t low, std::size_t high, Bytes key, const Take& take) const {
    if (low == high) return;
    const std::size_t root = middle_of(low, high);
    if (!order_.is_before(key, as_bytes(deletions_[last_[root]].end))) return;
    visit(low, root, key, take);
    const RangeDeletion& deletion = deletions_[root];
    if (order_.is_before(key, as_bytes(deletion.begin))) return;
    if (order_.is_before(key, as_bytes(deletion.end))) take(deletion);
    visit(root + 1, high, key, take);
  }

  KeyOrder order_;
  std::vector<RangeDeletion> deletions_;  // by begin
  std::vector<std::size_t> last_;         // of the tree with each root, the deletion that ends last
  std::uint64_t largest_sequence_ = 0;
  std::size_t ineffective_ = 0;
  std::uint64_t newest_ineffective_ = 0;  // its sequence number
  std::size_t reversed_ = 0;
  std::shared_ptr<LastNewest> newest_;  // null: there are no deletions
};

}  // namespace recordfs::database
