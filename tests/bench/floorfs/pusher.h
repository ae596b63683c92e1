// Pushes the contents of neighbours into the kernel's page cache while somebody reads the files of a directory in
// order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "fusefs/glue/fuse.h"
#include "tests/bench/floorfs/tree.h"

namespace recordfs::bench {

// Its thread serves no request: the kernel may hold a store back until a request is answered.
class Pusher {
 public:
  // `tree` and `session` have to outlive it. `window`: how many files are pushed ahead of a reader; 0 for none.
  Pusher(const Tree& tree, fuse_session* session, unsigned window);
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  // Tells of a READ of a record that was answered. Any thread, never waits for the kernel.
  void note_read(std::uint64_t ordinal);

 private:
  void run();
  void push(Siblings stretch);
  bool follows(std::uint64_t ordinal) const;

  const Tree& tree_;
  fuse_session* const session_;
  const unsigned window_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wanted_;
  std::optional<Siblings> next_;  // what the thread has to push
  std::uint64_t last_read_ = UINT64_MAX - 1;
  std::uint64_t pushed_until_ = 0;  // 0: nobody reads in order
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace recordfs::bench
