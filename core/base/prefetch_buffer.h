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

// A window that moves over a source from front to end. One scan, the driver, calls advance() and window(). Threads
// decode what it found, each with a ReadWindow on the pass, which reads from the window's pieces. If the source is
// slow, the pass has its own thread, which loads pieces in file order ahead of the driver. If it is fast, because its
// bytes are in the page cache, a reader loads each piece when it needs it: then it is in the processor's cache too.
//
// Reads before the window, far ahead of it, in a failed piece, or in a hole of a sparse file go directly to the source.
// So a failed piece costs only time.
class PrefetchBuffer {
 public:
  // Bytes of one read, unless window() needs more. They stay in a processor's cache until they are decoded.
  static constexpr std::uint64_t kPiece = 384u << 10;
  // Bytes of one read by one of several threads, which then wait for one another less often.
  static constexpr std::uint64_t kPieceAhead = 1u << 20;
  static constexpr std::uint64_t kMostAhead = 4u << 20;  // bytes loaded before they are requested; fewer at first
  static constexpr std::uint64_t kReach = 16u << 20;     // bytes; a read farther ahead goes directly to the source
  static constexpr std::uint64_t kMostKept = 24u << 20;  // loaded bytes without a Hold

  // Keeps pieces loaded until released. Movable. Used by one thread at a time.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : pass_(std::exchange(other.pass_, nullptr)), range_(other.range_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() { release(); }
    // Also holds the bytes [begin, end). Does nothing if that would hold more than kReach bytes. Throws
    // std::bad_alloc. REQUIRES: `begin` is not before the held range.
    void extend(PrefetchBuffer& pass, Position begin, Position end);
    void release();

   private:
    PrefetchBuffer* pass_ = nullptr;                     // null: holds nothing
    std::multimap<Position, Position>::iterator range_;  // in the pass
  };

  // `source` must outlive the pass. Bytes from `end` on are loaded only on request.
  explicit PrefetchBuffer(const Source& source, Position end = UINT64_MAX);
  // Blocks until the current read has ended. REQUIRES: no Hold and no ReadWindow is left.
  ~PrefetchBuffer();
  PrefetchBuffer(const PrefetchBuffer&) = delete;
  PrefetchBuffer& operator=(const PrefetchBuffer&) = delete;

  // States that the driver reads nothing before `at` any more. Drops the earlier pieces that are not held, and loads
  // more ahead. Moves the window if `at` is elsewhere. Called only by the driver.
  void advance(Position at);

  // Loads the next piece, of kPieceAhead, on the calling thread, which then has it in its processor's cache. Several
  // threads may do so at the same time. Returns false, and does nothing, if `most` pieces are ahead of the driver, or
  // the source is slow. For threads that would otherwise wait for the driver, if chunks are much smaller than a piece.
  // Any thread.
  bool load_ahead(std::uint64_t most);

  // Returns at least `least` contiguous bytes from `at`; fewer only at the end of the source, before a hole, or after a
  // read error. Reuses the memory of earlier windows that are no longer in use. Blocks until the bytes are loaded.
  // Throws std::bad_alloc. Called only by the driver, after advance(at).
  // REQUIRES: at < source.size().
  Slice window(Position at, std::uint64_t least = 1);

 private:
  friend class ReadWindow;

  // Consecutive bytes of the source.
  class Piece {
   public:
    Piece(Position begin, Buffer buffer, std::size_t front, std::size_t size)
        : begin_(begin), buffer_(std::move(buffer)), front_(front), size_(size) {}
    Position begin() const { return begin_; }
    std::size_t size() const { return size_; }
    Bytes view() const { return buffer_.view().subspan(front_, size_); }
    // Returns the bytes from `at` on; none if the piece does not contain it.
    Bytes from(Position at) const {
      if (at < begin_ || at - begin_ >= size_) return {};
      return view().subspan(static_cast<std::size_t>(at - begin_));
    }

   private:
    friend class PrefetchBuffer;
    const Position begin_;
    Buffer buffer_;
    const std::size_t front_;  // unused bytes before the piece
    const std::size_t size_;
    bool is_front_used_ = false;  // by a window; guarded by mutex_ of the pass
  };
  using Pieces = std::map<Position, std::shared_ptr<Piece>>;  // by begin
  // What to load next.
  struct Load {
    Position begin = 0;
    std::size_t size = 0;
    bool may_be_sparse = false;
    std::size_t room = 0;  // bytes to leave free before the piece, if nothing is carried
    Slice carried{};       // bytes before `begin` that become part of the piece
    Buffer to_reuse{};     // holds the carried bytes, if they have no owner
  };
  struct SpareBuffers;
  using Lock = std::unique_lock<std::mutex>;

  // Returns the piece with the byte `at`; null if the caller must read `below` itself. Blocks until the piece is
  // loaded. Any thread. REQUIRES: at < source.size().
  std::shared_ptr<Piece> piece_at(const RequestContext& context, const Source& below, Position at);
  std::shared_ptr<Piece> piece_at(const RequestContext& context, Lock& lock, const Source& below, Position at);
  std::shared_ptr<Piece> loaded_piece(Position at) const;
  bool has_loader();
  // Loads the next piece, of at least `least` bytes; `carried` are bytes before it that become part of it. Unlocks
  // while it reads.
  void load_next(const RequestContext& context, Lock& lock, const Source& from, std::uint64_t least = 0,
                 Slice carried = {}, std::size_t room = 0);
  bool is_in_flight(Position at) const;
  Load next_load(const Source& from, std::uint64_t least, Slice carried);
  // Returns the piece, or only its front if a hole follows; null if it could not be read. Throws std::bad_alloc.
  std::shared_ptr<Piece> load(const RequestContext& context, const Source& from, Load load);
  Slice joined(Position at, const Slice& bytes, Bytes more) const;
  // Returns `before` and the piece in one place, which is the piece's; nothing if it has no room for them.
  static Slice joined_in_front(const Slice& before, const std::shared_ptr<Piece>& piece);
  void run();
  bool wants_more() const;
  bool is_held_up_to(Position at) const;
  void move_to(Position at);
  void drop_unused();
  void release(std::multimap<Position, Position>::iterator range);

  const Source& source_;
  const Position end_;  // bytes from here on are not loaded ahead
  const std::shared_ptr<SpareBuffers> spares_;
  Position driver_at_ = 0;  // copy of low_, used only by the driver

  std::mutex mutex_;  // guards the following
  std::condition_variable wake_;
  std::condition_variable loaded_;
  Pieces pieces_;                                // loaded
  std::multimap<Position, Position> holds_;      // held ranges
  Position low_ = 0;                             // where the driver is
  Position next_ = 0;                            // where the next piece begins; those from low_ up to it were begun
  Position begin_ = 0;                           // where the window last moved to
  Position wanted_ = 0;                          // last byte that a thread waits for
  std::multimap<Position, Position> in_flight_;  // the pieces that are being loaded: begin and end
  std::uint64_t moves_ = 0;                      // how often the window moved elsewhere
  bool is_in_hole_ = false;                      // the last piece ended with zeros, so a hole may follow
  bool is_stopping_ = false;
  unsigned slow_loads_ = 0;  // consecutive pieces that took long to load
  bool is_slow_ = false;     // several did
  bool tried_thread_ = false;
  std::thread thread_;
};

}  // namespace recordfs
