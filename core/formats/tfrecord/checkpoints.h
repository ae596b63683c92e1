// Positions in a compressed file from which decoding can restart. Their number is bounded, whatever the file's size.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/formats/tfrecord/inflating.h"

namespace recordfs::tfrecord {

// A bounded set of checkpoints. Any thread.
class Checkpoints {
 public:
  // Holds checkpoints spread evenly over the part of the file read so far, denser while there are few, and the latest
  // ones, for sequential readers.
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kLatest = 8;

  // Returns the last checkpoint at or before the decoded byte. Drops checkpoints of another generation of the source.
  Checkpoint nearest(std::uint64_t decoded, std::uint64_t generation);
  void add(Checkpoint checkpoint, std::uint64_t generation);

 private:
  void check_generation(std::uint64_t generation);
  void thin();

  static constexpr std::uint64_t kLeastSpacing = 256u << 10;  // stored bytes

  std::mutex mutex_;  // guards the following members
  std::uint64_t generation_ = 0;
  std::uint64_t spacing_ = kLeastSpacing;
  std::vector<Checkpoint> spread_;  // ordered by position
  std::deque<Checkpoint> latest_;
};

}  // namespace recordfs::tfrecord
