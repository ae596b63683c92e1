// Progress: shows on stderr how far a command is, if that is a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace recordfs {

// Shows progress, if stderr is a terminal that can erase a line: one line, no wider than the terminal, that is
// repainted until the object is destroyed. At most one object at a time shows one. Thread-safe.
class Progress {
 public:
  enum class Unit : std::uint8_t { kBytes, kRecords };

  Progress(std::string_view command, Unit unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Callers check it before they compute a total.
  bool is_shown() const { return is_shown_; }
  // Sets the total, without which neither percentage nor remaining time is shown, or adds to it.
  void set_total(std::uint64_t total) { total_ = total; }
  void expect(std::uint64_t more) { total_ += more; }

  // Adds to the amount done. Repaints at most every 200 ms.
  void add(std::uint64_t more);
  // Erases the line, before other text is written to the terminal.
  void clear() const;
  // Does the same at the end, after it has shown the last amount.
  void finish() const;
  // Repaints the line of the object that shows one, if it is time. Returns whether there is such an object.
  static bool repaint_shown();

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
};

// Returns the size of a file, for a total; 0 if it cannot be found.
std::uint64_t size_of(const std::string& path);

}  // namespace recordfs
