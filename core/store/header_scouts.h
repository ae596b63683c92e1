// Reads headers of a remote source ahead of a scan, so that many requests are in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs {

// A scan of headers that lie far apart knows only from each of them where the next one is, and waits for it. If the
// format can find the chunk at any byte, threads scan later parts of the file in the meantime. Their results are
// dropped: what counts is that the bytes are in memory when the scan gets there. So they change no answer.
//
// If the format cannot, and chunks have equal sizes, requests the next headers where they should be.
//
// Used by one thread. Does nothing for a local source, for small chunks, and near the end of a file.
class HeaderScouts {
 public:
  // Both must outlive it.
  HeaderScouts(const Container& container, const Source& source);
  // Cancels what the threads do, and waits for them.
  ~HeaderScouts();
  HeaderScouts(const HeaderScouts&) = delete;
  HeaderScouts& operator=(const HeaderScouts&) = delete;

  // Notes where the scan goes on.
  void note(Position at);
  // Returns how many bytes the threads have requested.
  std::uint64_t requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kThreads = 16;

  void predict(Position at);
  void start(Position at);
  void run();
  void scan_part(Position begin, Position end);

  const Container& container_;
  const Source& source_;
  const bool is_used_;
  const bool can_locate_;

  // Of the scan.
  Position first_ = 0;                  // where it was when it was noted first
  Position last_ = 0;                   // and last
  std::uint64_t steps_ = 0;             // since then
  std::uint64_t requested_before_ = 0;  // bytes
  std::uint64_t gap_ = 0;               // bytes of the last step
  std::uint64_t equal_ = 0;             // consecutive steps of as many
  Position until_ = 0;                  // the first header that was not predicted

  std::atomic<Position> driver_{0};     // where the scan is
  std::atomic<Position> next_part_{0};  // that no thread scans
  std::atomic<std::uint64_t> part_{0};  // bytes
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> requested_{0};
  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<std::thread> threads_;
};

}  // namespace recordfs
