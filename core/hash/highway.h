// HighwayHash-64 with the key of Riegeli/records (Riegeli specification, "Conventions").
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"

namespace recordfs {

// Returns the hash of `bytes`. Thread-safe.
std::uint64_t riegeli_hash(Bytes bytes);

// The same hash, for data that only recordfs reads. Thread-safe.
inline std::uint64_t highway_hash(Bytes bytes) { return riegeli_hash(bytes); }

// Computes the same hash incrementally. Not thread-safe.
class RiegeliHasher {
 public:
  RiegeliHasher();
  ~RiegeliHasher();
  RiegeliHasher(const RiegeliHasher&) = delete;
  RiegeliHasher& operator=(const RiegeliHasher&) = delete;

  void append(Bytes piece);
  // Returns the hash of all appended bytes. Call at most once; do not append afterwards.
  std::uint64_t finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
