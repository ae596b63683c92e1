// ReadAheadPusher: stores the next records in the kernel's page cache, so that a sequential reader sends few requests.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// Leaves out one record per window. When the reader requests it, the next window is pushed while it reads the rest.
// Windows double while the reader continues. Random readers get nothing pushed.
//
// A reader may be faster, as with compressed records on one processor. When it requests a record that is not pushed
// yet, the request waits until the window is pushed: a request for each record would cost more. One request of each
// reader may wait, and its record is not pushed, because the kernel would block that until the request is answered.
//
// ReadAhead cannot detect these readers: it follows chunks, and ignores the order of reads within one. What was pushed
// is not read from here, so a reader is recognized by the window that it got. And a reader keeps its place here when
// -o follow replaces the store.
class ReadAheadPusher {
 public:
  explicit ReadAheadPusher(const MountTree& tree) : tree_(tree) {}
  ~ReadAheadPusher() { stop(); }
  ReadAheadPusher(const ReadAheadPusher&) = delete;
  ReadAheadPusher& operator=(const ReadAheadPusher&) = delete;

  // Stores all bytes of a file, a node number, in the page cache. Returns false if the kernel does not know the file.
  using Store = std::function<bool(std::uint64_t number, Bytes bytes)>;

  // Starts a thread that serves no requests: its stores can block until another request is answered. Returns false if
  // the system provides no thread.
  bool start(Store store);
  // Lets no further record be stored, and waits for the one that is being stored, but at most this long. Call it while
  // requests are still answered: the kernel may hold the store back until another request is. Thread-safe.
  void end_stores(std::chrono::milliseconds limit);
  // Joins the thread, and resumes what waits. REQUIRES: all other requests that the kernel waits for were answered.
  void stop();

  // Returns whether a push is due or runs, so that requests may have to wait. Takes no lock. Thread-safe.
  bool is_pushing() const { return pushes_.load(std::memory_order_relaxed) > 0; }

  // Returns whether a request for the first bytes of a record waits for a push. Then `resume` is called once, on
  // another thread, and answers it. Thread-safe.
  template <class Resume>
  bool holds(std::uint64_t number, const Resume& resume) {
    if (!is_record(number)) return false;
    const std::uint64_t reach = tree_.record_reach();
    const std::lock_guard lock(mutex_);
    Reader* const reader = overtaken(number, reach);
    if (reader == nullptr) return false;
    reader->resume = resume;
    reader->held = number;
    return true;
  }

  // Totals so far. Thread-safe.
  std::uint64_t pushed_records() const { return pushed_records_.load(std::memory_order_relaxed); }
  std::uint64_t pushed_bytes() const { return pushed_bytes_.load(std::memory_order_relaxed); }

  // Reports a read at offset 0 of a node. Thread-safe.
  void was_read(std::uint64_t number);

 private:
  static constexpr std::size_t kReaders = 8;

  // A sequential reader. Records are node numbers.
  struct Reader {
    std::uint64_t last = 0;         // record that was read last
    std::uint64_t pushed = 0;       // last record that was pushed or read
    std::uint64_t next = 0;         // record after it
    std::uint64_t left_out = 0;     // record whose request starts the next push
    std::uint64_t pushed_span = 0;  // of the last push, in numbers
    std::uint64_t reached = 0;      // last record that the present push has begun with
    std::uint64_t window = 0;       // number of records to push next
    unsigned pause = 0;             // reads without a push, after the kernel refused a record
    unsigned failures = 0;          // consecutive
    bool waits = false;             // in waiting_ or being pushed
    // Read after `last`, in an adjacent chunk, before anything was pushed; 0: none. Only the pusher's thread finds out
    // whether it is the next record, because that may need the index.
    std::uint64_t candidate = 0;
    std::uint64_t used_at = 0;
    std::uint64_t held = 0;          // record whose request waits; 0: none
    std::function<void()> resume{};  // null: none
    MountTree::BatchCursor following{};
  };

  using Readers = std::array<Reader, kReaders>;

  void run();
  // Puts a reader into waiting_. REQUIRES: mutex_ is locked.
  void demand(Reader& reader);
  void push(Reader& reader, std::unique_lock<std::mutex>& lock);
  bool is_sequential(Reader& reader, std::unique_lock<std::mutex>& lock) const;
  static bool is_overtaken(Reader& reader);
  // Returns whether a record is close after the last one that was read, as far as is known during a push.
  static bool is_near(const Reader& reader, std::uint64_t number, std::uint64_t reach);
  Reader* overtaken(std::uint64_t number, std::uint64_t reach);
  bool begin_record(Reader& reader, std::uint64_t number);
  static void resume_held(Reader& reader, std::unique_lock<std::mutex>& lock);
  Readers::iterator oldest();

  const MountTree& tree_;
  Store store_;  // called without mutex_
  std::atomic<std::uint64_t> pushed_records_{0};
  std::atomic<std::uint64_t> pushed_bytes_{0};
  std::atomic<unsigned> pushes_{0};  // readers with `waits`; changed while mutex_ is locked
  std::mutex mutex_;                 // guards the members below
  std::condition_variable wake_;
  Readers readers_{};
  std::deque<Reader*> waiting_;
  std::uint64_t storing_ = 0;  // the record that was stored last or is being stored; its request must not wait
  std::uint64_t time_ = 0;
  bool stopping_ = false;
  bool is_running_ = false;
  std::condition_variable ended_;
  std::thread thread_;
};

}  // namespace recordfs
