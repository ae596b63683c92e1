// The memory that a client shares with its fetcher, and which parts of it requests in flight may fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/remote/protocol.h"

namespace recordfs::remote {

// Not thread-safe, except for bytes().
class Arena {
 public:
  static constexpr std::uint64_t kSize = 256u << 20;  // bytes; pages that no reply has filled take no memory

  // Makes a memory file and maps it. Fails with kIo. `kept`: bytes that keep their memory when they are free, because
  // new memory costs as much time as the bytes that fill it.
  static Result<std::unique_ptr<Arena>> make(std::uint64_t kept = kLeastKept);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return file_.number(); }

  // Takes a part of at least `size` bytes. Returns where it begins, or kSize if there is no room.
  // REQUIRES: 0 < size <= kMostPerRead.
  std::uint64_t take(std::uint64_t size);
  // Gives a part back. `size` is the one that take() had.
  void give_back(std::uint64_t at, std::uint64_t size);
  // Returns how many bytes are taken.
  std::uint64_t taken() const { return taken_ * kUnit; }
  std::uint64_t kept() const { return kept_ * kUnit; }
  // Returns `size` bytes from `at` on, which the fetcher may change at any time. REQUIRES: they are in the arena.
  Bytes bytes(std::uint64_t at, std::uint64_t size) const { return {memory_ + at, static_cast<std::size_t>(size)}; }

 private:
  static constexpr std::uint64_t kUnit = kBlock;  // parts consist of whole units
  static constexpr std::uint64_t kLeastKept = kMostPerRead;

  static constexpr std::uint64_t kLarge = 1u << 20;  // bytes of a part that a reply most probably fills

  Arena(Descriptor file, std::byte* memory, std::uint64_t kept);
  // Allocates the memory of the units [begin, end).
  void allocate(std::uint64_t begin, std::uint64_t end);

  const Descriptor file_;
  std::byte* const memory_;
  const std::uint64_t kept_;  // units from here on give their memory back to the system when they are free
  std::uint64_t taken_ = 0;   // units
  std::vector<bool> is_taken_;
  std::vector<bool> has_memory_;  // units that allocate() need not allocate
};

}  // namespace recordfs::remote
