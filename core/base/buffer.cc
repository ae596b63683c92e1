#include "core/base/buffer.h"

#include <cassert>
#include <cstring>

#include <fmt/format.h>

#include "core/base/large_allocation.h"

namespace recordfs {

Result<Buffer> Buffer::allocate(std::size_t size) {
  Buffer buffer;
  if (auto grown = buffer.grow(size); !grown) return std::move(grown).error();
  return buffer;
}

Result<void> Buffer::grow(std::size_t size) {
  assert(size >= size_);
  if (size == size_) return {};
  LargeAllocations::announce(size);
  auto* const moved = static_cast<std::byte*>(std::realloc(bytes_.get(), size));  // NOLINT(cppcoreguidelines-no-malloc)
  if (moved == nullptr) {
    return Error{.code = Code::kOutOfMemory, .detail = fmt::format("no memory for {} bytes", size)};
  }
  static_cast<void>(bytes_.release());  // realloc has taken it
  bytes_.reset(moved);
  size_ = size;
  return {};
}

Result<Buffer> Buffer::copy_of(Bytes bytes) {
  auto buffer = allocate(bytes.size());
  if (buffer && !bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

void Buffer::fit() {
  if (size_ == 0) return bytes_.reset();
  auto* const moved =
      static_cast<std::byte*>(std::realloc(bytes_.get(), size_));  // NOLINT(cppcoreguidelines-no-malloc)
  if (moved == nullptr) return;
  static_cast<void>(bytes_.release());  // realloc has taken it
  bytes_.reset(moved);
}

void Buffer::truncate(std::size_t size) {
  assert(size <= size_);
  size_ = size;
}

}  // namespace recordfs
