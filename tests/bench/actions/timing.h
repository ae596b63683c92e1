// Times many equal actions and prints one line of JSON about them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace recordfs::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The results of a loop of actions. One thread.
class Tally {
 public:
  void reserve(std::size_t actions) { seconds_.reserve(actions); }
  // Runs and times `action`, which returns the number of bytes read, or a negative number if it failed.
  template <class Action>
  void time(Action action) {
    const Clock::time_point begin = Clock::now();
    const std::int64_t bytes = action();
    seconds_.push_back(seconds_since(begin));
    if (bytes < 0) {
      ++errors_;
    } else {
      bytes_ += static_cast<std::uint64_t>(bytes);
    }
  }

  // Returns {"n": ..., "s": ..., "us": mean, "p50_us": ..., "p99_us": ..., "bytes": ..., "errors": ...} and a newline.
  std::string json() const;

 private:
  std::vector<double> seconds_;
  std::uint64_t bytes_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace recordfs::bench
