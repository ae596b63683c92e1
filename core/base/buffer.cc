#include "core/base/buffer.h"

#include <sys/mman.h>

#include <cassert>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr std::size_t kLargePage = 2u << 20;
constexpr std::size_t kManyPages = 32u << 20;  // so large that malloc() maps new memory

// Page faults for new memory cost more time than decompressing into it. Large pages avoid most of them. A failure is
// harmless.
void ask_for_large_pages(std::byte* bytes, std::size_t size) {
  if (size < kManyPages) return;
  const std::size_t to_page = (kLargePage - reinterpret_cast<std::uintptr_t>(bytes) % kLargePage) % kLargePage;
  static_cast<void>(::madvise(bytes + to_page, (size - to_page) / kLargePage * kLargePage, MADV_HUGEPAGE));
}

}  // namespace

Result<Buffer> Buffer::allocate(const RequestContext& context, std::size_t size) {
  Buffer buffer;
  TRY(buffer.grow(context, size));
  return buffer;
}

bool Buffer::move_to(std::size_t size) {
  auto* const moved = static_cast<std::byte*>(std::realloc(bytes_.get(), size));  // NOLINT(cppcoreguidelines-no-malloc)
  if (moved == nullptr) return false;
  static_cast<void>(bytes_.release());  // realloc() owns it
  bytes_.reset(moved);
  ask_for_large_pages(moved, size);
  return true;
}

Result<void> Buffer::grow(const RequestContext& context, std::size_t size) {
  assert(size >= size_);
  if (size == size_) return {};
  TRY(context.reserve(size));
  if (!move_to(size)) {
    return Error{.code = Code::kOutOfMemory, .detail = fmt::format("no memory for {} bytes", size)};
  }
  size_ = size;
  return {};
}

Result<Buffer> Buffer::copy_of(const RequestContext& context, Bytes bytes) {
  auto buffer = allocate(context, bytes.size());
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
