// Pushes file contents into the kernel's page cache ahead of a reader that reads a directory in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "fusefs/glue/fuse.h"
#include "tests/bench/floorfs/tree.h"

namespace recordfs::bench {

// Its thread serves no requests: the kernel may block a store until a request is answered.
class Pusher {
 public:
  // `tree` and `session` have to outlive it. `window`: number of files pushed ahead of a reader; 0: none.
  Pusher(const Tree& tree, fuse_session* session, unsigned window);
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  // Notes that a READ of a record was answered. Thread-safe; never waits for the kernel.
  void note_read(std::uint64_t ordinal);

 private:
  void run();
  void push(Siblings stretch);
  bool follows(std::uint64_t ordinal) const;

  const Tree& tree_;
  fuse_session* const session_;
  const unsigned window_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wanted_;
  std::optional<Siblings> next_;  // what the thread pushes next
  std::uint64_t last_read_ = UINT64_MAX - 1;
  std::uint64_t pushed_until_ = 0;  // 0: no sequential reader
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace recordfs::bench
