#include "core/hash/highway.h"

#include <bit>

#include <highwayhash/c_bindings.h>
#include <highwayhash/instruction_sets.h>

#include "core/hash/highway_engine.h"

namespace recordfs {
namespace {

// "Riegeli/", "records\n", "Riegeli/", "records\n".
constexpr HHKey kKey = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952, 0x0a7364726f636572};

const char* characters(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }

const HashEngine* best_engine() {
  const HashEngine* engines[kMaxEngines];
  supported_engines(engines);
  return engines[0];
}

}  // namespace

std::size_t supported_engines(const HashEngine* (&engines)[kMaxEngines]) {
  std::size_t count = 0;
#ifdef RECORDFS_HASH_X86
  const auto supported = highwayhash::InstructionSets::Supported();
  if (supported & HH_TARGET_AVX2) engines[count++] = &kAvx2Engine;
  if (supported & HH_TARGET_SSE41) engines[count++] = &kSse41Engine;
#endif
  if constexpr (std::endian::native == std::endian::little) engines[count++] = &kBaseEngine;
  engines[count++] = &kAnyOrderEngine;
  return count;
}

struct RiegeliHasher::State {
  const HashEngine& engine = *best_engine();
  alignas(kHashStateAlignment) std::byte memory[kHashStateBytes];
};

RiegeliHasher::RiegeliHasher() : state_(std::make_unique<State>()) { state_->engine.start(state_->memory, kKey); }

RiegeliHasher::~RiegeliHasher() = default;

void RiegeliHasher::append(Bytes piece) {
  if (!piece.empty()) state_->engine.append(state_->memory, characters(piece), piece.size());
}

std::uint64_t RiegeliHasher::finish() { return state_->engine.finish(state_->memory); }

std::uint64_t riegeli_hash(Bytes bytes) {
  if constexpr (std::endian::native == std::endian::little) return HighwayHash64(kKey, characters(bytes), bytes.size());
  RiegeliHasher hasher;
  hasher.append(bytes);
  return hasher.finish();
}

}  // namespace recordfs
