// Progress of commands that read remote files.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace recordfs {

// While it exists, shows on a terminal how many bytes and requests the fetcher has had, once the command has taken a
// second. A Progress of the command itself is shown instead, and is repainted meanwhile. Shows nothing once the same
// terminal has output.
class RemoteProgress {
 public:
  RemoteProgress() = default;
  ~RemoteProgress();
  RemoteProgress(const RemoteProgress&) = delete;
  RemoteProgress& operator=(const RemoteProgress&) = delete;

  // Starts a thread, if there is a terminal.
  void start(std::string command);

 private:
  void run();
  void paint() const;

  std::string command_{};
  std::chrono::steady_clock::time_point begin_{};
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::thread thread_{};
};

}  // namespace recordfs
