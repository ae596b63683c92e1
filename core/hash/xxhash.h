// xxHash of three kinds, all with the seed 0.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"

namespace recordfs {

// XXH32, XXH64 and the 64 bits of XXH3. None of them fails; any thread may call.
std::uint32_t xxh32(Bytes bytes);
std::uint64_t xxh64(Bytes bytes);
std::uint64_t xxh3(Bytes bytes);

enum class XxHashKind : std::uint8_t { k32, k64, k3 };

// The hash of bytes that come in pieces, which may be asked for behind each piece. One object, one thread.
class XxHasher {
 public:
  explicit XxHasher(XxHashKind kind);
  ~XxHasher();
  XxHasher(const XxHasher&) = delete;
  XxHasher& operator=(const XxHasher&) = delete;

  void append(Bytes piece);
  // Of all pieces so far.
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
