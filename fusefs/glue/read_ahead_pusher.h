// ReadAheadPusher: puts the records behind one that is read into the kernel's page cache while somebody walks, so that
// the reader does not wait for a message.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "fusefs/glue/fuse.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// One record in each window of pushed ones is left out. Who walks on asks for it, and so says how far he has come: then
// the next window is pushed while he reads the rest of this one. Windows grow as long as somebody follows, and nobody
// who reads here and there is ever pushed anything.
class ReadAheadPusher {
 public:
  explicit ReadAheadPusher(const MountTree& tree) : tree_(tree) {}
  ~ReadAheadPusher() { stop(); }
  ReadAheadPusher(const ReadAheadPusher&) = delete;
  ReadAheadPusher& operator=(const ReadAheadPusher&) = delete;

  // Starts the thread that pushes: one that serves no request, as the kernel may hold it up until another request is
  // answered. False: the system gives none.
  bool start(fuse_session* session);
  // Ends it. REQUIRES: every request that the kernel waits for was answered.
  void stop();

  // What was pushed so far. Any thread.
  std::uint64_t pushed_records() const { return pushed_records_.load(std::memory_order_relaxed); }
  std::uint64_t pushed_bytes() const { return pushed_bytes_.load(std::memory_order_relaxed); }

  // The beginning of a node was read. Any thread.
  void was_read(std::uint64_t number);

 private:
  static constexpr std::size_t kReaders = 8;

  // Somebody who reads one record after the other.
  struct Reader {
    std::uint64_t last = 0;      // number of the record that was read last
    std::uint64_t pushed = 0;    // of the last record that was pushed, or read
    std::uint64_t next = 0;      // of the record behind it
    std::uint64_t left_out = 0;  // of the record by which the reader tells that it comes
    std::uint64_t window = 0;    // records to push next
    unsigned pause = 0;          // steps for which nothing is pushed, as the kernel did not know the records
    unsigned failures = 0;       // in a row
    bool waits = false;          // for the thread
    std::uint64_t used_at = 0;
  };

  void run();
  void push(Reader& reader, std::unique_lock<std::mutex>& lock);
  Reader* reader_at(std::uint64_t number);
  Reader& oldest();

  const MountTree& tree_;
  fuse_session* session_ = nullptr;
  std::atomic<std::uint64_t> pushed_records_{0};
  std::atomic<std::uint64_t> pushed_bytes_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::array<Reader, kReaders> readers_{};
  std::deque<Reader*> waiting_;
  std::uint64_t time_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace recordfs
