// Bytes followed by an unreadable page: reading one byte too far crashes, even in libraries without sanitizer
// instrumentation.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "core/base/bytes.h"

namespace recordfs::testing {

class Guarded {
 public:
  explicit Guarded(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (size + page - 1) / page * page + page;
    void* memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
    memory_ = static_cast<std::byte*>(memory);
    end_ = memory_ + mapped_ - page;
    if (::mprotect(end_, page, PROT_NONE) != 0) throw std::runtime_error("mprotect failed");
  }
  explicit Guarded(Bytes bytes) : Guarded(bytes.size()) {
    if (!bytes.empty()) std::memcpy(span().data(), bytes.data(), bytes.size());
  }
  ~Guarded() { ::munmap(memory_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  MutableBytes span() { return {end_ - size_, size_}; }
  Bytes view() const { return {end_ - size_, size_}; }

 private:
  std::size_t size_;
  std::size_t mapped_ = 0;
  std::byte* memory_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace recordfs::testing
