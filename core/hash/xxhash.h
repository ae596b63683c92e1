// xxHash: XXH32, XXH64 and XXH3, with seed 0 unless one is given.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"

namespace recordfs {

// One-shot functions. They cannot fail. Thread-safe.
std::uint32_t xxh32(Bytes bytes);
std::uint64_t xxh64(Bytes bytes);
std::uint64_t xxh3(Bytes bytes);

// A hash of 128 bits.
struct Hash128 {
  std::uint64_t high = 0, low = 0;
};
Hash128 xxh3_128(Bytes bytes, std::uint64_t seed);

enum class XxHashKind : std::uint8_t { k32, k64, k3 };

// Computes a hash incrementally. Not thread-safe.
class XxHasher {
 public:
  explicit XxHasher(XxHashKind kind);
  ~XxHasher();
  XxHasher(const XxHasher&) = delete;
  XxHasher& operator=(const XxHasher&) = delete;

  void append(Bytes piece);
  // Returns the hash of all bytes appended so far. More pieces may follow.
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
