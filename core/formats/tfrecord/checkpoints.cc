#include "core/formats/tfrecord/checkpoints.h"

#include <algorithm>
#include <utility>

namespace recordfs::tfrecord {

void Checkpoints::check_generation(std::uint64_t generation) {
  if (std::exchange(generation_, generation) == generation) return;
  spread_.clear();
  latest_.clear();
  spacing_ = kLeastSpacing;
}

Checkpoint Checkpoints::nearest(std::uint64_t decoded, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  check_generation(generation);
  Checkpoint best;
  const auto after = std::ranges::upper_bound(spread_, decoded, {}, &Checkpoint::decoded);
  if (after != spread_.begin()) best = *(after - 1);
  for (const Checkpoint& checkpoint : latest_) {
    if (checkpoint.decoded <= decoded && checkpoint.decoded > best.decoded) best = checkpoint;
  }
  return best;
}

void Checkpoints::add(Checkpoint checkpoint, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  check_generation(generation);
  const auto after = std::ranges::upper_bound(spread_, checkpoint.decoded, {}, &Checkpoint::decoded);
  const Position before = after == spread_.begin() ? 0 : (after - 1)->stored;
  const bool is_apart = checkpoint.stored - before >= spacing_ &&
                        (after == spread_.end() || after->stored - checkpoint.stored >= spacing_);
  if (is_apart) spread_.insert(after, checkpoint);
  if (spread_.size() > kMost) thin();
  std::erase_if(latest_, [&](const Checkpoint& other) { return other.decoded == checkpoint.decoded; });
  latest_.push_back(std::move(checkpoint));
  if (latest_.size() > kLatest) latest_.pop_front();
}

// Removes every other checkpoint.
void Checkpoints::thin() {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < spread_.size(); i += 2) spread_[kept++] = std::move(spread_[i]);
  spread_.resize(kept);
  spacing_ *= 2;
}

}  // namespace recordfs::tfrecord
