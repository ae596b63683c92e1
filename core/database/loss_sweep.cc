#include "core/database/loss_sweep.h"

#include <algorithm>
#include <utility>

namespace recordfs::database {
namespace {

constexpr std::array kCauses = {Code::kDamage, Code::kUnsupported, Code::kLimit};

bool is_newer(const Age& a, const Age& b) { return a.is_newer_than(b); }
bool is_same(const Age& a, const Age& b) { return !a.is_newer_than(b) && !b.is_newer_than(a); }

// Returns the number after the largest sequence number of a loss, which may be 0.
std::uint64_t end_of(const Loss& loss) { return std::min(loss.largest_sequence, UINT64_MAX - 1) + 1; }

// Takes the first element of a heap.
template <class IsLater>
Loss pop(std::vector<Loss>& heap, const IsLater& is_later) {
  std::ranges::pop_heap(heap, is_later);
  Loss loss = std::move(heap.back());
  heap.pop_back();
  return loss;
}

template <class IsLater>
void push(std::vector<Loss>& heap, Loss loss, const IsLater& is_later) {
  heap.push_back(std::move(loss));
  std::ranges::push_heap(heap, is_later);
}

struct BeginsLater {
  const KeyOrder& order;
  bool operator()(const Loss& a, const Loss& b) const {
    return a.from && (!b.from || order.is_before(as_bytes(*b.from), as_bytes(*a.from)));
  }
};

struct EndsLater {
  const KeyOrder& order;
  bool operator()(const Loss& a, const Loss& b) const {
    return b.to && (!a.to || order.is_before(as_bytes(*b.to), as_bytes(*a.to)));
  }
};

}  // namespace

LossSweep::LargestByRank::LargestByRank(std::size_t ranks) : ends_(ranks) {
  while (leaves_ < ranks) leaves_ *= 2;
  largest_.resize(2 * leaves_);
}

void LossSweep::LargestByRank::insert(std::size_t rank, std::uint64_t end) {
  ends_[rank].insert(end);
  update(rank);
}

void LossSweep::LargestByRank::erase(std::size_t rank, std::uint64_t end) {
  ends_[rank].erase(ends_[rank].find(end));
  update(rank);
}

void LossSweep::LargestByRank::update(std::size_t rank) {
  std::size_t at = leaves_ + rank;
  largest_[at] = ends_[rank].empty() ? 0 : *ends_[rank].rbegin();
  for (at /= 2; at > 0; at /= 2) largest_[at] = std::max(largest_[2 * at], largest_[2 * at + 1]);
}

std::uint64_t LossSweep::LargestByRank::largest_until(std::size_t rank) const {
  std::uint64_t largest = 0;
  std::size_t low = leaves_;
  for (std::size_t high = leaves_ + rank + 1; low < high; low /= 2, high /= 2) {
    if (high % 2 == 1) largest = std::max(largest, largest_[--high]);
    if (low % 2 == 1) largest = std::max(largest, largest_[low++]);
  }
  return largest;
}

void LossSweep::add(Loss loss) {
  if (list_ages_) {
    ages_ = std::exchange(list_ages_, nullptr)();
    std::ranges::sort(ages_, is_newer);
    ages_.erase(std::unique(ages_.begin(), ages_.end(), is_same), ages_.end());
  }
  if (order_.is_known()) return push(later_, std::move(loss), BeginsLater{order_});
  largest_of(loss.cause).insert(rank_of(loss), end_of(loss));
}

Staleness LossSweep::staleness_of(Bytes key, std::optional<std::uint64_t> sequence, const Age& age) {
  while (!later_.empty()) {
    const auto& from = later_.front().from;
    if (from && order_.is_before(key, as_bytes(*from))) break;
    open(pop(later_, BeginsLater{order_}));
  }
  close_before(key);
  Staleness staleness;
  const std::uint64_t least = sequence ? *sequence + 1 : 0;
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    if (largest_[i] && largest_[i]->largest_until(rank_of(age)) > least) staleness.add(kCauses[i]);
  }
  return staleness;
}

void LossSweep::open(Loss loss) {
  largest_of(loss.cause).insert(rank_of(loss), end_of(loss));
  push(open_, std::move(loss), EndsLater{order_});
}

void LossSweep::close_before(Bytes key) {
  while (!open_.empty()) {
    const auto& to = open_.front().to;
    if (!to || !order_.is_before(as_bytes(*to), key)) return;
    const Loss loss = pop(open_, EndsLater{order_});
    largest_of(loss.cause).erase(rank_of(loss), end_of(loss));
  }
}

LossSweep::LargestByRank& LossSweep::largest_of(Code cause) {
  const auto at = std::ranges::find(kCauses, cause);
  auto& largest = largest_[at == kCauses.end() ? 0 : static_cast<std::size_t>(at - kCauses.begin())];
  if (!largest) largest.emplace(ages_.size() + 1);
  return *largest;
}

// Losses without an age have rank 0, and then the newest ones come first.
std::size_t LossSweep::rank_of(const Loss& loss) const {
  if (!loss.age) return 0;
  const std::size_t rank = rank_of(*loss.age);
  return rank > 0 && is_same(ages_[rank - 1], *loss.age) ? rank : 0;
}

// Returns the last rank of files that are not older.
std::size_t LossSweep::rank_of(const Age& age) const {
  const auto end = std::ranges::partition_point(ages_, [&](const Age& other) { return !age.is_newer_than(other); });
  return static_cast<std::size_t>(end - ages_.begin());
}

}  // namespace recordfs::database
