// Reads a source once, in file order and in large pieces, for all threads of one scan.
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

// A window that moves over a source from front to end. One thread, the driver, scans and calls advance(). Other threads
// decode what the driver found, each with a ReadWindow on the pass, which reads from the window's pieces. If the source
// is slow, the pass has its own thread, which loads pieces in file order ahead of the driver. If it is fast, because
// its bytes are in the page cache, readers load each piece when they need it: then it is in the processor's cache too.
//
// Reads before the window, far ahead of it, in a failed piece, or in a hole of a sparse file go directly to the source.
// So a failed piece costs only time.
class SequentialPass {
 public:
  static constexpr std::uint64_t kPiece = 1u << 20;    // bytes of one read; pieces begin at multiples of it
  static constexpr std::uint64_t kMostAhead = 4;       // pieces loaded before they are requested; fewer at first
  static constexpr std::uint64_t kReach = 16;          // pieces; a read farther ahead goes directly to the source
  static constexpr std::uint64_t kMostKept = 24;       // loaded pieces without a Hold
  static constexpr std::size_t kCarried = 512u << 10;  // most bytes of a piece that window() joins with the next piece

  // Keeps pieces loaded until released. Movable. Used by one thread at a time.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : pass_(std::exchange(other.pass_, nullptr)), first_(other.first_), last_(other.last_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() { release(); }
    // Also holds the pieces of [begin, end). Does nothing if that would hold more than kReach pieces. Throws
    // std::bad_alloc. REQUIRES: `begin` is not before the held range.
    void extend(SequentialPass& pass, Position begin, Position end);
    void release();

   private:
    SequentialPass* pass_ = nullptr;  // null: holds nothing
    std::uint64_t first_ = 0;         // numbers of pieces
    std::uint64_t last_ = 0;
  };

  // `source` must outlive the pass. Bytes from `end` on are loaded only on request.
  explicit SequentialPass(const Source& source, Position end = UINT64_MAX);
  // Blocks until the current read has ended. REQUIRES: no Hold and no ReadWindow is left.
  ~SequentialPass();
  SequentialPass(const SequentialPass&) = delete;
  SequentialPass& operator=(const SequentialPass&) = delete;

  // States that the driver reads nothing before `at` any more. Drops the earlier pieces that are not held, and loads
  // more ahead. Moves the window if `at` is elsewhere. Called only by the driver.
  void advance(Position at);

  // Returns the bytes from `at` to the end of its piece. Otherwise as window().
  Slice rest_of_piece(Position at);
  // Returns the bytes from `at` on: to the end of the piece or, if at most kCarried bytes are left there, to the end of
  // the next one. No bytes if they could not be read, or a hole follows. Blocks until the pieces are loaded. Called
  // only by the driver. REQUIRES: at < source.size().
  Slice window(Position at);

 private:
  friend class ReadWindow;

  // The bytes of a piece, with room before them for the end of the previous piece. The room belongs to the driver.
  class Loaded {
   public:
    Loaded(Buffer buffer, std::size_t room) : buffer_(std::move(buffer)), room_(room) {}
    Bytes view() const { return buffer_.view().subspan(room_); }
    std::size_t size() const { return buffer_.size() - room_; }

   private:
    friend class SequentialPass;
    // Returns `before` and the piece, consecutively.
    Bytes joined(Bytes before);

    Buffer buffer_;
    const std::size_t room_;
    std::size_t carried_ = 0;  // bytes at the end of the room that are filled
  };
  struct Piece {
    std::shared_ptr<Loaded> bytes;  // null: not loaded, or it could not be read
    unsigned holds = 0;
  };
  struct SpareBuffers;
  using Lock = std::unique_lock<std::mutex>;

  // Returns the piece with the byte `at`; null if the caller must read `below` itself. Blocks until the piece is
  // loaded. Any thread. REQUIRES: at < source.size().
  std::shared_ptr<Loaded> piece_at(const RequestContext& context, const Source& below, Position at);
  // Loads the next piece. Unlocks while it reads.
  void load_next(const RequestContext& context, Lock& lock, const Source& from);
  // Returns the piece, or only its front if a hole follows; null if it could not be read. Throws std::bad_alloc.
  std::shared_ptr<Loaded> load(const RequestContext& context, const Source& from, std::uint64_t number,
                               bool may_be_sparse);
  std::shared_ptr<Loaded> front_alone(const RequestContext& context, Buffer piece);
  void run();
  bool wants_more() const;
  bool is_held_up_to(std::uint64_t number) const;
  void move_to(std::uint64_t number);
  void drop_unused();
  void release(std::uint64_t first, std::uint64_t last);

  const Source& source_;
  const std::uint64_t end_;  // number of the first piece that is not loaded ahead
  const std::shared_ptr<SpareBuffers> spares_;
  std::uint64_t driver_at_ = 0;  // copy of low_, used only by the driver

  std::mutex mutex_;  // guards the following
  std::condition_variable wake_;
  std::condition_variable loaded_;
  std::map<std::uint64_t, Piece> pieces_;  // by number: loaded, or held
  std::uint64_t low_ = 0;                  // piece that the driver is in
  std::uint64_t next_ = 0;                 // piece to load next; all from low_ up to it were loaded
  std::uint64_t begin_ = 0;                // where the window last moved to
  std::uint64_t wanted_ = 0;               // last piece that a thread waits for
  bool is_loading_ = false;
  bool is_in_hole_ = false;  // the last piece ended with zeros, so a hole may follow
  bool is_stopping_ = false;
  unsigned slow_loads_ = 0;  // consecutive pieces that took long to load
  bool is_slow_ = false;     // several did
  bool tried_thread_ = false;
  std::thread thread_;
};

}  // namespace recordfs
