#include "core/base/buffer.h"

#include <cassert>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace recordfs {

Result<Buffer> Buffer::allocate(std::size_t size) {
  Buffer buffer;
  if (size == 0) return buffer;
  buffer.bytes_.reset(new (std::nothrow) std::byte[size]);
  if (!buffer.bytes_) {
    return Error{.code = Code::kOutOfMemory, .detail = fmt::format("no memory for {} bytes", size)};
  }
  buffer.size_ = size;
  return buffer;
}

Result<Buffer> Buffer::copy_of(Bytes bytes) {
  auto buffer = allocate(bytes.size());
  if (buffer && !bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

void Buffer::truncate(std::size_t size) {
  assert(size <= size_);
  size_ = size;
}

}  // namespace recordfs
