// Pieces of sources that a scan has read, kept in memory for what reads the same bytes next.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs {

// Uses only memory that nothing else wants: a piece is kept if there is room, and set_limit() takes the memory back. So
// a scan of a file that is too large displaces nothing. It drops pieces in file order, because a reader that follows
// the scan has passed the first ones. Thread-safe.
class ScanCache {
 public:
  // The bytes [begin, end) of a source. They never change.
  struct Piece {
    std::shared_ptr<Buffer> buffer;
    Position buffer_begin = 0;  // of the buffer's first byte in the source
    Position begin = 0;
    Position end = 0;
    std::uint64_t generation = 0;  // Source::generation() before they were read

    Bytes from(Position at) const {
      return buffer->view().subspan(static_cast<std::size_t>(at - buffer_begin), static_cast<std::size_t>(end - at));
    }
  };

  // `limit` is in bytes of all pieces.
  explicit ScanCache(std::uint64_t limit) : limit_(limit) {}
  ScanCache(const ScanCache&) = delete;
  ScanCache& operator=(const ScanCache&) = delete;

  // Returns the id of a new source. Pieces of later sources displace those of earlier ones.
  std::uint64_t add_source() { return next_source_.fetch_add(1, std::memory_order_relaxed); }
  // Drops a source's pieces.
  void forget(std::uint64_t source);

  // Stores the bytes of `piece` that are not cached yet, if they fit. May throw std::bad_alloc.
  void keep(std::uint64_t source, Piece piece);
  // Returns the piece with the byte `at`; nullopt if it is not kept.
  std::optional<Piece> find(std::uint64_t source, Position at) const;
  // Returns how many of the bytes [begin, end) are kept.
  std::uint64_t count(std::uint64_t source, Position begin, Position end) const;
  // Returns whether nothing is kept. Takes no lock.
  bool is_empty() const { return bytes_.load(std::memory_order_relaxed) == 0; }

  // Changes the limit, and drops what exceeds it.
  void set_limit(std::uint64_t limit);
  // Returns the memory of all pieces in bytes.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  using Pieces = std::map<std::pair<std::uint64_t, Position>, Piece>;  // by source and begin

  // Moves a piece to `dropped`, which is destroyed without the lock, because freeing memory is slow.
  void drop(Pieces::iterator piece, Pieces& dropped);

  std::atomic<std::uint64_t> next_source_{1};
  mutable std::mutex mutex_;  // guards the following, except reads of bytes_
  Pieces pieces_;
  std::atomic<std::uint64_t> bytes_{0};
  std::uint64_t limit_;
};

}  // namespace recordfs
