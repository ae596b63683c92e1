// HighwayHash-64 with the key of Riegeli/records (its specification, "Conventions").
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"

namespace recordfs {

// The hash of `bytes`. Any thread.
std::uint64_t riegeli_hash(Bytes bytes);

// The same hash as a name for bytes of our own, which no other program reads. Any thread.
inline std::uint64_t highway_hash(Bytes bytes) { return riegeli_hash(bytes); }

// The same hash over bytes that come in pieces. One object, one thread.
class RiegeliHasher {
 public:
  RiegeliHasher();
  ~RiegeliHasher();
  RiegeliHasher(const RiegeliHasher&) = delete;
  RiegeliHasher& operator=(const RiegeliHasher&) = delete;

  void append(Bytes piece);
  // The hash of all pieces so far. Call once, at the end.
  std::uint64_t finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
