// A decoded chunk and the layout of its records.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs {

// The position of a record in its chunk's payload.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Returns the position of `slice` in the bytes of which it is a slice.
inline Extent extent_in(Bytes whole, Bytes slice) {
  return {slice.empty() ? 0 : static_cast<std::uint64_t>(slice.data() - whole.data()), slice.size()};
}

// The positions of a chunk's records in its payload. Records are consecutive; the first one may begin after a prefix.
// A record that is known to exist but cannot be read carries its failure. Immutable once shared, then readable from
// any thread.
class Layout {
 public:
  // `first_begin`: where the first record begins in the payload.
  explicit Layout(std::uint64_t first_begin = 0) : base_(first_begin) {}

  void reserve(const RequestContext& context, std::uint64_t records) {
    context.announce(records * sizeof(narrow_[0]));
    narrow_.reserve(static_cast<std::size_t>(records));
  }
  // Appends a record of `size` bytes.
  void add(const RequestContext& context, std::uint64_t size) { push_end(context, end() + size); }
  // Appends an unreadable record with a declared size of `size` bytes.
  void add_failed(const RequestContext& context, std::uint64_t size, Error why) {
    add_failed(context, 1, size, std::move(why));
  }
  // Appends `records` unreadable records of `size` bytes each. Consecutive records with the same error share one copy
  // of it.
  void add_failed(const RequestContext& context, std::uint64_t records, std::uint64_t size, Error why);
  // Records that no checksum covers the records, in a container whose records have checksums.
  void set_unchecked() { has_checksum_ = false; }

  std::uint64_t records() const { return narrow_.size() + wide_.size(); }
  // REQUIRES: index < records().
  Extent extent(std::uint64_t index) const;
  // Returns why a record cannot be read; null if it can be. REQUIRES: index < records().
  const Error* failure(std::uint64_t index) const;
  bool has_failures() const { return !failures_.empty(); }
  // Returns why the first such record cannot be read; null if all can be.
  const Error* first_failure() const { return failures_.empty() ? nullptr : &failures_.begin()->second.why; }
  // Returns false if set_unchecked() was called.
  bool has_checksum() const { return has_checksum_; }
  // Returns the index of the record that holds byte `offset` of the payload (an empty record holds none); records()
  // if `offset` is at or after the last record's end.
  std::uint64_t index_at(std::uint64_t offset) const;

  std::uint64_t first_begin() const { return base_; }
  // Returns where the last record ends in the payload.
  std::uint64_t end() const { return records() == 0 ? base_ : end_of(records() - 1); }
  // Returns the sum of all records' sizes. Failed ones count with their declared size.
  std::uint64_t total() const { return end() - base_; }
  // Returns the memory used in bytes, approximately.
  std::uint64_t memory() const;

 private:
  void push_end(const RequestContext& context, std::uint64_t end);
  std::uint64_t end_of(std::uint64_t index) const {
    return index < narrow_.size() ? narrow_[static_cast<std::size_t>(index)]
                                  : wide_[static_cast<std::size_t>(index - narrow_.size())];
  }

  std::uint64_t base_;
  bool has_checksum_ = true;
  // Ends of the records: 32-bit as long as they fit, the rest 64-bit.
  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
  // Consecutive records that fail for one reason, keyed by the first of them.
  struct Failures {
    std::uint64_t end;  // index after the last
    Error why;
  };
  std::map<std::uint64_t, Failures> failures_;
};

// The decoded payload of one chunk, verified by the checksums that its format has. Immutable, shared, readable from
// any thread.
class Chunk : public std::enable_shared_from_this<Chunk> {
 public:
  explicit Chunk(Layout layout) : layout_(std::move(layout)) {}
  virtual ~Chunk() = default;
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  const Layout& layout() const { return layout_; }
  virtual std::uint64_t payload_size() const = 0;
  // Returns exactly `length` bytes of the payload from `offset`. The slice shares ownership of the chunk or of the
  // bytes, so it stays valid when a cache drops the chunk. Fails if the bytes are not in memory and cannot be read or
  // verified. Does not check Layout::failure; the caller does that first. REQUIRES: offset + length <= payload_size().
  virtual Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const = 0;
  // Returns whether the payload is in memory, so that reading a record without a failure tells nothing new.
  virtual bool is_in_memory() const { return false; }
  // Returns the memory used in bytes.
  virtual std::uint64_t memory() const = 0;

 private:
  const Layout layout_;
};

// A chunk with its whole payload in one buffer.
class BufferChunk final : public Chunk {
 public:
  // The payload is `bytes` from `begin` to the end. REQUIRES: begin + layout.end() <= bytes.size().
  BufferChunk(Buffer bytes, Layout layout, std::size_t begin = 0);
  std::uint64_t payload_size() const override { return bytes_.size() - begin_; }
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override;
  bool is_in_memory() const override { return true; }
  std::uint64_t memory() const override;

 private:
  const Buffer bytes_;
  const std::size_t begin_;
};

// A chunk that is read in place: it reads its payload from the file on demand.
class FileChunk final : public Chunk {
 public:
  // Reads `length` bytes of the payload from `offset`. Callable from any thread.
  using Read = std::function<Result<Buffer>(const RequestContext& context, const Source&, const Layout&,
                                            std::uint64_t offset, std::uint64_t length)>;
  // Reads a payload that is stored unchanged from `begin` on.
  static Read stored_at(Position begin);

  // A verification of the whole payload, which has succeeded once.
  struct Verified {
    std::uint64_t generation = 0;  // of the source, before the verification
    Position begin = 0;            // for errors
    std::function<Result<void>(const RequestContext&, const Source&)> again{};  // callable from any thread
  };

  // For a `read` that verifies what it reads, or a format without checksums. `held`: the memory that `read` uses.
  FileChunk(std::shared_ptr<const Source> source, Layout layout, Read read, std::uint64_t held = 0)
      : FileChunk(std::move(source), std::move(layout), std::move(read), Verified{}, held) {}
  // Verifies the payload again when the source was touched.
  FileChunk(std::shared_ptr<const Source> source, Layout layout, Read read, Verified verified, std::uint64_t held = 0)
      : Chunk(std::move(layout)),
        source_(std::move(source)),
        read_(std::move(read)),
        verified_(std::move(verified)),
        generation_(verified_.generation),
        held_(held) {}

  std::uint64_t payload_size() const override { return layout().end(); }
  // Fails as Read and Verified do, and with kChanged if the file keeps changing.
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override { return sizeof(*this) + held_ + layout().memory(); }

 private:
  const std::shared_ptr<const Source> source_;
  const Read read_;
  const Verified verified_;
  mutable std::atomic<std::uint64_t> generation_;  // of the source, before the last verification
  const std::uint64_t held_;
};

}  // namespace recordfs
