#include "core/base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr std::size_t kManyPages = 32u << 20;  // so large that malloc() maps new memory
constexpr std::size_t kLarge = 512u << 10;     // smaller buffers do not change the heap's pages
constexpr std::size_t kSmallPage = 4u << 10;

// Asks for all pages that have bytes from `begin` to `end`. A part of a mapping would become a mapping of its own, and
// realloc() copies memory that is in several.
void ask_for_large_pages(std::byte* begin, const std::byte* end) {
  std::byte* const page = begin - reinterpret_cast<std::uintptr_t>(begin) % kSmallPage;
  const auto size = static_cast<std::size_t>(end - page);
  static_cast<void>(::madvise(page, (size + kSmallPage - 1) / kSmallPage * kSmallPage, MADV_HUGEPAGE));
}

// Page faults for new memory cost more time than decompressing into it. Large pages avoid most of them. So does what
// the heap has grown by since the last large buffer, because most buffers are in the heap. A failure is harmless.
void ask_for_large_pages(std::byte* bytes, std::size_t size) {
  if (size < kLarge) return;
  if (size >= kManyPages) return ask_for_large_pages(bytes, bytes + size);
  static std::atomic<std::byte*> asked_until{nullptr};
  auto* const heap_end = static_cast<std::byte*>(::sbrk(0));
  if (std::greater_equal<>()(bytes, heap_end)) return;
  std::byte* const before = asked_until.exchange(heap_end, std::memory_order_relaxed);
  if (before == nullptr) return ask_for_large_pages(bytes, heap_end);
  if (std::less<>()(before, heap_end)) ask_for_large_pages(before, heap_end);
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

void Buffer::release(std::size_t begin, std::size_t end) {
  assert(begin <= end && end <= size_);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
  const std::uintptr_t from = (address + begin + kSmallPage - 1) / kSmallPage * kSmallPage;
  const std::uintptr_t to = (address + end) / kSmallPage * kSmallPage;
  // A failure is harmless.
  if (from < to) static_cast<void>(::madvise(bytes_.get() + (from - address), to - from, MADV_DONTNEED));
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
