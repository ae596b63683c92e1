#include "tests/unit/support/failing_allocations.h"

#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace recordfs::testing {
namespace {

constinit std::atomic<bool> is_counting{false};
constinit std::atomic<std::uint64_t> seen_so_far{0};
constinit std::atomic<std::uint64_t> failed_so_far{0};
constinit std::atomic<std::uint64_t> first_failing{0};
constinit std::atomic<std::uint64_t> failing{0};
constinit std::atomic<std::int64_t> pieces{0};
constinit thread_local int pauses = 0;

// Whether the current allocation has to fail. Allocates nothing.
bool is_to_fail() {
  if (!is_counting.load() || pauses > 0) return false;
  const std::uint64_t number = seen_so_far.fetch_add(1);
  if (number < first_failing.load() || number - first_failing.load() >= failing.load()) return false;
  failed_so_far.fetch_add(1);
  return true;
}

}  // namespace

FailingAllocations::FailingAllocations(std::uint64_t first, std::uint64_t count) {
  seen_so_far = 0;
  failed_so_far = 0;
  first_failing = first;
  failing = count;
  is_counting = true;
}

FailingAllocations::~FailingAllocations() { is_counting = false; }

std::uint64_t FailingAllocations::seen() const { return seen_so_far; }
std::uint64_t FailingAllocations::failed() const { return failed_so_far; }
std::int64_t FailingAllocations::in_use() { return pieces; }

void FailingAllocations::take_what_is_kept() {
  constexpr std::ptrdiff_t kThreads = 16;
  std::barrier all_there(kThreads);
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t i = 0; i < kThreads; ++i) threads.emplace_back([&] { all_there.arrive_and_wait(); });
  static_cast<void>(std::strerror(ENOMEM));
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    return;
  }
}

FailingAllocations::Pause::Pause() { ++pauses; }
FailingAllocations::Pause::~Pause() { --pauses; }

}  // namespace recordfs::testing

#ifdef RECORDFS_SANITIZED

void* operator new(std::size_t size) {
  void* const memory = recordfs::testing::is_to_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return recordfs::testing::is_to_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { return operator new(size, nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

#else

// The C library's own malloc functions.
extern "C" {
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* memory, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
void __libc_free(void* memory) noexcept;
}

namespace {

using recordfs::testing::is_to_fail;
using recordfs::testing::pieces;

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

void* counted(void* memory) {
  if (memory != nullptr) pieces.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* aligned(std::size_t alignment, std::size_t size) {
  return is_to_fail() ? no_memory() : counted(__libc_memalign(alignment, size));
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept { return is_to_fail() ? no_memory() : counted(__libc_malloc(size)); }

void* calloc(std::size_t count, std::size_t size) noexcept {
  return is_to_fail() ? no_memory() : counted(__libc_calloc(count, size));
}

void* realloc(void* memory, std::size_t size) noexcept {
  if (is_to_fail()) return no_memory();
  void* const moved = __libc_realloc(memory, size);
  if (memory == nullptr) return counted(moved);
  if (moved == nullptr && size == 0) pieces.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}

void* memalign(std::size_t alignment, std::size_t size) noexcept { return aligned(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return aligned(alignment, size); }

// Never fails: libblosc, the only caller, does not check the result. recordfs allocates as much just before.
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  void* const got = counted(__libc_memalign(alignment, size));
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

void free(void* memory) noexcept {
  if (memory != nullptr) pieces.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

}  // extern "C"

#endif
