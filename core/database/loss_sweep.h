// Finds the losses that cover the keys of an iteration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "core/base/bytes.h"
#include "core/database/key_order.h"
#include "core/database/loss.h"

namespace recordfs::database {

// Takes time logarithmic in the number of losses for each key and each loss. One thread.
class LossSweep {
 public:
  // `list_ages` returns the ages of the files that losses may come from. It is called before the first loss. A loss of
  // another age counts as newer than all writes. If the order is not known, each loss covers all keys.
  LossSweep(const KeyOrder& order, std::function<std::vector<Age>()> list_ages)
      : order_(order.of_user_keys()), list_ages_(std::move(list_ages)) {}

  // Adds a loss of the family.
  void add(Loss loss);
  // Returns whether losses that cover a key may have cost newer writes than one with the sequence number, in a file of
  // the age; nullopt: any writes. REQUIRES: keys do not decrease from call to call if their order is known.
  Staleness staleness_of(Bytes key, std::optional<std::uint64_t> sequence, const Age& age);

 private:
  // Sets of ends of sequence numbers (after the largest one of a loss) by rank.
  class LargestByRank {
   public:
    explicit LargestByRank(std::size_t ranks);
    void insert(std::size_t rank, std::uint64_t end);
    void erase(std::size_t rank, std::uint64_t end);
    // Returns the largest end of this rank and those before it; 0 if there is none.
    std::uint64_t largest_until(std::size_t rank) const;

   private:
    void update(std::size_t rank);

    std::size_t leaves_ = 1;
    std::vector<std::multiset<std::uint64_t>> ends_;
    std::vector<std::uint64_t> largest_;  // a binary tree, whose leaves are the ranks
  };

  void open(Loss loss);
  void close_before(Bytes key);
  LargestByRank& largest_of(Code cause);
  std::size_t rank_of(const Loss& loss) const;
  std::size_t rank_of(const Age& age) const;

  const KeyOrder order_;                                 // of users' keys
  std::function<std::vector<Age>()> list_ages_;          // empty after the first loss
  std::vector<Age> ages_;                                // newest first
  std::vector<Loss> later_;                              // a heap: the next one to cover keys is the first
  std::vector<Loss> open_;                               // a heap: the next one to cover no more keys is the first
  std::array<std::optional<LargestByRank>, 3> largest_;  // ends of open_ by age, for each cause
};

}  // namespace recordfs::database
