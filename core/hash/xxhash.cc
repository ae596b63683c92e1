#include "core/hash/xxhash.h"

#include <new>

#include <xxhash.h>

namespace recordfs {

std::uint32_t xxh32(Bytes bytes) { return XXH32(bytes.data(), bytes.size(), 0); }

std::uint64_t xxh64(Bytes bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::uint64_t xxh3(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(Bytes bytes, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {.high = hash.high64, .low = hash.low64};
}

struct XxHasher::State {
  XxHashKind kind;
  XXH32_state_t* of32 = nullptr;
  XXH64_state_t* of64 = nullptr;
  XXH3_state_t* of3 = nullptr;
};

XxHasher::XxHasher(XxHashKind kind) : state_(std::make_unique<State>(State{kind})) {
  bool is_ready = false;
  switch (kind) {
    case XxHashKind::k32:
      state_->of32 = XXH32_createState();
      is_ready = state_->of32 != nullptr && XXH32_reset(state_->of32, 0) == XXH_OK;
      break;
    case XxHashKind::k64:
      state_->of64 = XXH64_createState();
      is_ready = state_->of64 != nullptr && XXH64_reset(state_->of64, 0) == XXH_OK;
      break;
    case XxHashKind::k3:
      state_->of3 = XXH3_createState();
      is_ready = state_->of3 != nullptr && XXH3_64bits_reset(state_->of3) == XXH_OK;
      break;
  }
  if (!is_ready) throw std::bad_alloc();
}

XxHasher::~XxHasher() {
  XXH32_freeState(state_->of32);
  XXH64_freeState(state_->of64);
  XXH3_freeState(state_->of3);
}

void XxHasher::append(Bytes piece) {
  if (piece.empty()) return;
  switch (state_->kind) {
    case XxHashKind::k32: XXH32_update(state_->of32, piece.data(), piece.size()); break;
    case XxHashKind::k64: XXH64_update(state_->of64, piece.data(), piece.size()); break;
    case XxHashKind::k3: XXH3_64bits_update(state_->of3, piece.data(), piece.size()); break;
  }
}

std::uint64_t XxHasher::value() const {
  switch (state_->kind) {
    case XxHashKind::k32: return XXH32_digest(state_->of32);
    case XxHashKind::k64: return XXH64_digest(state_->of64);
    case XxHashKind::k3: return XXH3_64bits_digest(state_->of3);
  }
  return 0;
}

}  // namespace recordfs
