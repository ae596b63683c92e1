// Buffer: owned bytes that are not zeroed first, and whose allocation can fail without an exception.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

class Buffer {
 public:
  Buffer() = default;
  // What was moved from is empty.
  Buffer(Buffer&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // `size` bytes of unspecified content. Fails with kOutOfMemory. The caller has checked `size`
  // against Limits and against the bytes that are really there.
  static Result<Buffer> allocate(std::size_t size);

  // A copy of `bytes`. Fails with kOutOfMemory.
  static Result<Buffer> copy_of(Bytes bytes);

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Bytes view() const { return {bytes_.get(), size_}; }
  MutableBytes span() { return {bytes_.get(), size_}; }

  // Gives up the bytes behind `size`; the memory stays. REQUIRES: size <= size().
  void truncate(std::size_t size);

  // Gives back the memory behind size().
  void fit();

  // Makes it `size` bytes, those behind the present ones of unspecified content; a large one is not held twice on the
  // way. Fails with kOutOfMemory, and then is what it was. REQUIRES: size >= size().
  Result<void> grow(std::size_t size);

 private:
  // False: there is no memory, and nothing has changed. REQUIRES: size > 0.
  bool move_to(std::size_t size);

  // Of the C library, whose realloc() moves a large buffer without a copy.
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }  // NOLINT(cppcoreguidelines-no-malloc)
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_ = 0;
};

// Bytes that stay valid as long as `owner` is held.
struct Slice {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// All bytes of `buffer`, which is the slice's from now on.
Slice owned(Buffer buffer);

}  // namespace recordfs
