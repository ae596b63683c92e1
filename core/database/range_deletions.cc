#include "core/database/range_deletions.h"

#include <algorithm>
#include <mutex>
#include <queue>

namespace recordfs::database {

// Divides the keys at the bounds of deletions, so that the newest deletion is the same for all keys of a part.
class RangeDeletions::Newest {
 public:
  Newest(const RangeDeletions& of, std::uint64_t at) : order_(of.order_), at_(at) {
    std::vector<const RangeDeletion*> by_begin;
    for (const RangeDeletion& deletion : of.deletions_) {
      if (deletion.sequence <= at) by_begin.push_back(&deletion);
    }
    std::vector<const RangeDeletion*> by_end = by_begin;
    std::ranges::sort(by_end, [&](const auto* a, const auto* b) { return is_before(a->end, b->end); });
    divide(by_begin, by_end);
  }

  std::uint64_t at() const { return at_; }

  const RangeDeletion* find(Bytes key) const {
    const auto after = std::ranges::partition_point(
        parts_, [&](const Part& part) { return !order_.is_before(key, as_bytes(*part.begin)); });
    return after == parts_.begin() ? nullptr : std::prev(after)->newest;
  }

 private:
  struct Part {
    const std::string* begin = nullptr;  // to the begin of the next part
    const RangeDeletion* newest = nullptr;
  };

  bool is_before(const std::string& a, const std::string& b) const {
    return order_.is_before(as_bytes(a), as_bytes(b));
  }

  // Sweeps over the bounds in the order of keys, with the deletions that contain the present key.
  void divide(const std::vector<const RangeDeletion*>& by_begin, const std::vector<const RangeDeletion*>& by_end) {
    const auto is_older = [](const auto* a, const auto* b) { return a->sequence < b->sequence; };
    std::priority_queue<const RangeDeletion*, std::vector<const RangeDeletion*>, decltype(is_older)> open(is_older);
    auto next = by_begin.begin();
    for (auto ends = by_end.begin(); ends != by_end.end();) {
      const bool begins = next != by_begin.end() && is_before((*next)->begin, (*ends)->end);
      const std::string& now = begins ? (*next)->begin : (*ends)->end;
      for (; next != by_begin.end() && !is_before(now, (*next)->begin); ++next) open.push(*next);
      ends = std::find_if(ends, by_end.end(), [&](const auto* deletion) { return is_before(now, deletion->end); });
      while (!open.empty() && !is_before(now, open.top()->end)) open.pop();
      const RangeDeletion* newest = open.empty() ? nullptr : open.top();
      if (parts_.empty() || parts_.back().newest != newest) parts_.push_back({&now, newest});
    }
  }

  const KeyOrder order_;
  const std::uint64_t at_;
  std::vector<Part> parts_;
};

struct RangeDeletions::LastNewest {
  std::mutex mutex;
  std::shared_ptr<const Newest> newest;  // guarded by mutex
};

void RangeDeletions::finish(const KeyOrder& order) {
  order_ = order.of_user_keys();
  if (!order.is_known()) {
    ineffective_ = deletions_.size();
    for (const RangeDeletion& deletion : deletions_) {
      newest_ineffective_ = std::max(newest_ineffective_, deletion.sequence);
    }
    deletions_.clear();
  }
  if (order.has_timestamps()) {
    for (RangeDeletion& deletion : deletions_) {
      deletion.timestamp = order.timestamp(as_bytes(deletion.begin)).value_or(0);
      deletion.begin.resize(order.user_key(as_bytes(deletion.begin)).size());
      deletion.end.resize(order.user_key(as_bytes(deletion.end)).size());
    }
  }
  reversed_ = static_cast<std::size_t>(std::ranges::count_if(deletions_, [&](const auto& deletion) {
    return order_.is_before(as_bytes(deletion.end), as_bytes(deletion.begin));
  }));
  std::erase_if(deletions_, [&](const auto& deletion) {
    return !order_.is_before(as_bytes(deletion.begin), as_bytes(deletion.end));
  });
  std::ranges::sort(
      deletions_, [&](const auto& a, const auto& b) { return order_.is_before(as_bytes(a.begin), as_bytes(b.begin)); });
  last_.resize(deletions_.size());
  if (deletions_.empty()) return;
  find_last(0, deletions_.size());
  largest_sequence_ = std::ranges::max(deletions_, {}, &RangeDeletion::sequence).sequence;
  newest_ = std::make_shared<LastNewest>();
}

// Recursion is as deep as the logarithm of the number of deletions.
std::size_t RangeDeletions::find_last(std::size_t low, std::size_t high) {
  const std::size_t root = middle_of(low, high);
  std::size_t last = root;
  const auto consider = [&](std::size_t other) {
    if (order_.is_before(as_bytes(deletions_[last].end), as_bytes(deletions_[other].end))) last = other;
  };
  if (low < root) consider(find_last(low, root));
  if (root + 1 < high) consider(find_last(root + 1, high));
  return last_[root] = last;
}

std::pair<std::string, std::string> RangeDeletions::bounds() const {
  return {deletions_.front().begin, deletions_[last_[middle_of(0, deletions_.size())]].end};
}

std::shared_ptr<const RangeDeletions::Newest> RangeDeletions::newest_at(std::uint64_t at) const {
  at = std::min(at, largest_sequence_);
  const std::lock_guard lock(newest_->mutex);
  if (!newest_->newest || newest_->newest->at() != at) newest_->newest = std::make_shared<const Newest>(*this, at);
  return newest_->newest;
}

const RangeDeletion* RangeDeletions::find_newest(Bytes key, std::uint64_t at) const {
  return deletions_.empty() ? nullptr : newest_at(at)->find(key);
}

std::optional<std::uint64_t> RangeDeletions::newest_over(Bytes key, const Snapshot& at) const {
  if (at.timestamp == kNewest) {
    const RangeDeletion* newest = find_newest(key, at.sequence);
    return newest == nullptr ? std::nullopt : std::optional(newest->sequence);
  }
  std::optional<std::uint64_t> newest;
  for_each_over(key, [&](const RangeDeletion& deletion) {
    const bool is_seen = deletion.sequence <= at.sequence && deletion.timestamp <= at.timestamp;
    if (is_seen) newest = std::max(newest.value_or(0), deletion.sequence);
  });
  return newest;
}

std::size_t RangeDeletions::memory() const {
  // Each deletion has at most two parts of Newest.
  std::size_t bytes = deletions_.capacity() * (sizeof(RangeDeletion) + sizeof(std::size_t) + 4 * sizeof(void*));
  for (const RangeDeletion& deletion : deletions_) bytes += deletion.begin.size() + deletion.end.size();
  return bytes;
}

}  // namespace recordfs::database
