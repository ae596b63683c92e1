// Owned bytes. The memory is not zeroed, and a failed allocation is an error, not an exception.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

namespace recordfs {

class Buffer {
 public:
  Buffer() = default;
  // The moved-from buffer is empty.
  Buffer(Buffer&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Returns `size` bytes of unspecified content. Fails like grow(). The caller has checked `size` against Limits and
  // against the bytes that are present.
  static Result<Buffer> allocate(const RequestContext& context, std::size_t size);

  // Returns a copy of `bytes`. Fails like grow().
  static Result<Buffer> copy_of(const RequestContext& context, Bytes bytes);

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Bytes view() const { return {bytes_.get(), size_}; }
  MutableBytes span() { return {bytes_.get(), size_}; }

  // Drops the bytes after `size`, but keeps their memory. REQUIRES: size <= size().
  void truncate(std::size_t size);

  // Frees the memory after size().
  void fit();

  // Gives the memory of the bytes from `begin` to `end` back to the system, as far as that is whole pages. Their
  // content is unspecified afterwards. REQUIRES: begin <= end <= size().
  void release(std::size_t begin, std::size_t end);

  // Grows to `size` bytes; the new ones have unspecified content. Large buffers are not copied. Fails with
  // kOutOfMemory, and like RequestContext::reserve(), which may block; then the buffer is unchanged. REQUIRES: size >=
  // size().
  Result<void> grow(const RequestContext& context, std::size_t size);

 private:
  // Returns false, and changes nothing, if there is no memory. REQUIRES: size > 0.
  bool move_to(std::size_t size);

  // Memory of malloc(), because realloc() moves a large buffer without a copy.
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }  // NOLINT(cppcoreguidelines-no-malloc)
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_ = 0;
};

// Bytes that are valid as long as `owner` or a copy of it is alive; without an owner, as long as the source of the
// slice states.
struct Slice {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// Returns all bytes of `buffer`. The slice owns them. Throws std::bad_alloc.
Slice owned(Buffer buffer);

}  // namespace recordfs
