// SequentialPass: reads a source once, in file order and in large pieces, for all threads that work on one scan.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/source.h"

namespace recordfs {

// A window that moves over a source from its front to its end. One thread, the driver, scans and calls advance().
// Further threads decode what the driver has found. Each of them has a ReadWindow on the pass, which serves its reads
// from the pieces of the window. A thread of the pass loads the pieces in file order, ahead of the driver.
//
// Reads that the window does not cover go to the source directly: before the window, far ahead of it, where a piece
// could not be read, and in the holes of a sparse file. So a failed piece costs time, and nothing that can be read is
// lost.
class SequentialPass {
 public:
  static constexpr std::uint64_t kPiece = 1u << 20;  // bytes of one read; pieces begin at multiples of it
  static constexpr std::uint64_t kMostAhead = 4;     // pieces loaded before anyone asks for them; fewer at first
  static constexpr std::uint64_t kReach = 16;        // pieces: a read farther ahead goes to the source directly
  static constexpr std::uint64_t kMostKept = 24;     // loaded pieces that no Hold covers

  // Keeps pieces until their bytes were used. Movable; belongs to one thread at a time.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : pass_(std::exchange(other.pass_, nullptr)), first_(other.first_), last_(other.last_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() { release(); }
    // Keeps the pieces of [begin, end) too. Does nothing if all that is held would exceed kReach. Throws
    // std::bad_alloc. REQUIRES: begin is not before what is held.
    void extend(SequentialPass& pass, Position begin, Position end);
    void release();

   private:
    SequentialPass* pass_ = nullptr;  // null: nothing is held
    std::uint64_t first_ = 0;         // the numbers of the pieces
    std::uint64_t last_ = 0;
  };

  // `source` must outlive the pass. Bytes from `end` on are not loaded unless a thread asks for them.
  explicit SequentialPass(const Source& source, Position end = UINT64_MAX);
  // Waits for the read that is under way. REQUIRES: no Hold and no ReadWindow is left.
  ~SequentialPass();
  SequentialPass(const SequentialPass&) = delete;
  SequentialPass& operator=(const SequentialPass&) = delete;

  // The driver reads no more before `at`. Pieces before it that are not held are dropped, and more are loaded ahead.
  // `at` may be anywhere: the window moves there. Called by the driver alone.
  void advance(Position at);

 private:
  friend class ReadWindow;

  struct Piece {
    std::shared_ptr<const Buffer> bytes;  // null: not loaded so far, or it could not be read
    unsigned holds = 0;
  };
  struct SpareBuffers;
  using Lock = std::unique_lock<std::mutex>;

  // The loaded piece that has the byte `at`, or null if the caller is to read `below` directly. Waits until it is
  // loaded. Any thread. REQUIRES: at < source.size().
  std::shared_ptr<const Buffer> piece_at(const Source& below, Position at);
  // Loads the next piece, without the lock meanwhile.
  void load_next(Lock& lock, const Source& from);
  // Returns the piece, or only its front if a hole of a sparse file follows. Null if it could not be read.
  std::shared_ptr<const Buffer> load(const Source& from, std::uint64_t number, bool may_be_sparse);
  std::shared_ptr<const Buffer> front_alone(Buffer piece);
  void start_thread();
  void run();
  bool wants_more() const;
  bool is_held_up_to(std::uint64_t number) const;
  void move_to(std::uint64_t number);
  void drop_unused();
  void release(std::uint64_t first, std::uint64_t last);

  const Source& source_;
  const std::uint64_t end_;  // the number of the first piece that is not loaded ahead
  const std::shared_ptr<SpareBuffers> spares_;
  std::uint64_t driver_at_ = 0;  // as low_, for the driver

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable loaded_;
  std::map<std::uint64_t, Piece> pieces_;  // by number: loaded, or held
  std::uint64_t low_ = 0;                  // the piece that the driver is in
  std::uint64_t next_ = 0;                 // the piece to be loaded next; all from low_ up to it were loaded
  std::uint64_t begin_ = 0;                // where the window was moved to last
  std::uint64_t wanted_ = 0;               // the last piece that a thread waits for
  bool is_loading_ = false;
  bool is_in_hole_ = false;  // the last piece ended with zeros, so a hole of any length may follow
  bool is_stopping_ = false;
  bool tried_thread_ = false;
  std::thread thread_;
};

}  // namespace recordfs
