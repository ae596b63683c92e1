// Progress: how far a command has come, on stderr where that is a terminal; nothing anywhere else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace recordfs {

// A line that is painted over again and again, until the object goes. All functions may be called from any thread.
class Progress {
 public:
  enum class Unit : std::uint8_t { kBytes, kRecords };

  Progress(std::string_view command, Unit unit);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether anything is shown: whoever has to find out the total asks first.
  bool is_shown() const { return is_shown_; }
  // What is to be done in all; without it no share and no time left are shown.
  void set_total(std::uint64_t total) { total_ = total; }

  // So much more was done. Paints from time to time.
  void add(std::uint64_t more);
  // Takes the line away, before something else is written to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string line(Clock::time_point now) const;
  std::string amount(std::uint64_t units) const;

  const std::string command_;
  const Unit unit_;
  const bool is_shown_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<std::uint64_t> total_{0};
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  Clock::time_point painted_{};  // guarded by mutex_
  bool is_painted_ = false;      // guarded by mutex_
};

}  // namespace recordfs
