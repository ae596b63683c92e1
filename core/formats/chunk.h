// A decoded chunk and the layout of its records.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/large_allocation.h"
#include "core/base/result.h"

namespace recordfs {

// Where one record stands in its chunk's payload.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Where each record of a chunk stands in the chunk's payload: one behind the other, with a gap before
// a record where the format has one. A record that is known to be there but can't be read carries its
// failure. Immutable once shared; then readable from any thread.
class Layout {
 public:
  // `first_begin`: where the first record begins in the payload.
  explicit Layout(std::uint64_t first_begin = 0) : base_(first_begin) {}

  void reserve(std::uint64_t records) {
    LargeAllocations::announce(records * sizeof(narrow_[0]));
    narrow_.reserve(static_cast<std::size_t>(records));
  }
  // The next record has `size` bytes.
  void add(std::uint64_t size) { push_end(end() + size); }
  // The next record should have `size` bytes (its declared size) and can't be read.
  void add_failed(std::uint64_t size, Error why) { add_failed(1, size, std::move(why)); }
  // The same for the next `records` records, each of `size` bytes. The reason is held once, and so is that of records
  // that were added one by one, fail alike and follow each other.
  void add_failed(std::uint64_t records, std::uint64_t size, Error why);

  std::uint64_t records() const { return narrow_.size() + wide_.size(); }
  // REQUIRES: index < records().
  Extent extent(std::uint64_t index) const;
  // Why a record can't be read; null for a good one. REQUIRES: index < records().
  const Error* failure(std::uint64_t index) const;
  bool has_failures() const { return !failures_.empty(); }
  // The index of the record that holds byte `offset` of the payload (an empty record holds none);
  // records() when `offset` is at or behind the last record's end.
  std::uint64_t index_at(std::uint64_t offset) const;

  std::uint64_t first_begin() const { return base_; }
  // Where the last record ends in the payload.
  std::uint64_t end() const { return records() == 0 ? base_ : end_of(records() - 1); }
  // Sum of all records' sizes, failed ones with their declared size.
  std::uint64_t total() const { return end() - base_; }
  // Bytes of memory held, roughly.
  std::uint64_t memory() const;

 private:
  void push_end(std::uint64_t end);
  std::uint64_t end_of(std::uint64_t index) const {
    return index < narrow_.size() ? narrow_[static_cast<std::size_t>(index)]
                                  : wide_[static_cast<std::size_t>(index - narrow_.size())];
  }

  std::uint64_t base_;
  // Ends of the records: in 32 bits as long as they fit, the rest in 64.
  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
  // Records in a row that fail for one reason, by the first of them.
  struct Failures {
    std::uint64_t end;  // index behind the last
    Error why;
  };
  std::map<std::uint64_t, Failures> failures_;
};

// The decoded payload of one chunk, all of it verified by whatever checksums its format has.
// Immutable, shared, readable from any thread.
class Chunk : public std::enable_shared_from_this<Chunk> {
 public:
  explicit Chunk(Layout layout) : layout_(std::move(layout)) {}
  virtual ~Chunk() = default;
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  const Layout& layout() const { return layout_; }
  virtual std::uint64_t payload_size() const = 0;
  // Exactly `length` bytes of the payload from `offset`. REQUIRES: offset + length <= payload_size().
  // Fails where the bytes are not in memory and can't be read or verified. It does not look at
  // Layout::failure: the caller asks for that first.
  virtual Result<Slice> read(std::uint64_t offset, std::uint64_t length) const = 0;
  // Bytes of memory that this chunk holds.
  virtual std::uint64_t memory() const = 0;

 private:
  const Layout layout_;
};

// The usual chunk: its whole payload in one buffer.
class BufferChunk final : public Chunk {
 public:
  // The payload is `bytes` from `begin` on. REQUIRES: begin + layout.end() <= bytes.size().
  BufferChunk(Buffer bytes, Layout layout, std::size_t begin = 0);
  std::uint64_t payload_size() const override { return bytes_.size() - begin_; }
  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override;

 private:
  const Buffer bytes_;
  const std::size_t begin_;
};

}  // namespace recordfs
