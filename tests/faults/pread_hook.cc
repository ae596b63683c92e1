#include "tests/faults/pread_hook.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <dlfcn.h>

namespace recordfs::faults {
namespace {

std::shared_mutex mutex;
OnRead current;  // guarded by mutex
std::atomic<std::uint64_t> count{0};

using Pread = ssize_t (*)(int, void*, std::size_t, off_t);

Pread of_library(const char* name) { return reinterpret_cast<Pread>(::dlsym(RTLD_NEXT, name)); }

ssize_t read_below(Pread below, int file, void* out, std::size_t size, off_t at) {
  const std::shared_lock lock(mutex);
  if (!current) return below(file, out, size, at);
  Read read{.number = count.fetch_add(1), .at = at, .size = size};
  if (const auto instead = current(read)) return *instead;
  return below(file, out, read.size, at);
}

}  // namespace

PreadHook::PreadHook(OnRead on_read) {
  const std::unique_lock lock(mutex);
  count = 0;
  current = std::move(on_read);
}

PreadHook::~PreadHook() {
  const std::unique_lock lock(mutex);
  current = nullptr;
}

std::uint64_t PreadHook::reads() { return count; }

}  // namespace recordfs::faults

// Defines both names, since a build with 64-bit offsets may call either.
extern "C" ssize_t pread(int file, void* out, std::size_t size, off_t at) {
  static const auto below = recordfs::faults::of_library("pread");
  return recordfs::faults::read_below(below, file, out, size, at);
}

extern "C" ssize_t pread64(int file, void* out, std::size_t size, off_t at) {
  static const auto below = recordfs::faults::of_library("pread64");
  return recordfs::faults::read_below(below, file, out, size, at);
}
