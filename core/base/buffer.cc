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

bool Buffer::move_to(std::size_t size) {
  auto* const moved = static_cast<std::byte*>(std::realloc(bytes_.get(), size));  // NOLINT(cppcoreguidelines-no-malloc)
  if (moved == nullptr) return false;
  static_cast<void>(bytes_.release());  // realloc has taken it
  bytes_.reset(moved);
  return true;
}

Result<void> Buffer::grow(std::size_t size) {
  assert(size >= size_);
  if (size == size_) return {};
  LargeAllocations::announce(size);
  if (!move_to(size)) {
    return Error{.code = Code::kOutOfMemory, .detail = fmt::format("no memory for {} bytes", size)};
  }
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
  static_cast<void>(move_to(size_));
}

void Buffer::truncate(std::size_t size) {
  assert(size <= size_);
  size_ = size;
}

Slice owned(Buffer buffer) {
  auto owner = std::make_shared<const Buffer>(std::move(buffer));
  const Bytes bytes = owner->view();
  return {bytes, std::move(owner)};
}

}  // namespace recordfs
