#include "core/hash/highway.h"

#include <bit>

#include "core/hash/highway_engine.h"
#include "core/hash/instruction_sets.h"

namespace recordfs {
namespace {

// "Riegeli/", "records\n", "Riegeli/", "records\n".
constexpr std::uint64_t kKey[] = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952, 0x0a7364726f636572};

const char* characters(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }

const HashEngine& best_engine() {
  static const HashEngine* const best = [] {
    const HashEngine* engines[kMaxEngines];
    supported_engines(engines);
    return engines[0];
  }();
  return *best;
}

}  // namespace

std::size_t supported_engines(const HashEngine* (&engines)[kMaxEngines]) {
  std::size_t count = 0;
#ifdef RECORDFS_HASH_X86
  if (instruction_sets().avx2) engines[count++] = &kAvx2Engine;
  if (instruction_sets().sse41) engines[count++] = &kSse41Engine;
#endif
  if constexpr (std::endian::native == std::endian::little) engines[count++] = &kBaseEngine;
  engines[count++] = &kAnyOrderEngine;
  return count;
}

struct RiegeliHasher::State {
  const HashEngine& engine = best_engine();
  alignas(kHashStateAlignment) std::byte memory[kHashStateBytes];
};

RiegeliHasher::RiegeliHasher() : state_(std::make_unique<State>()) { state_->engine.start(state_->memory, kKey); }

RiegeliHasher::~RiegeliHasher() = default;

void RiegeliHasher::append(Bytes piece) {
  if (!piece.empty()) state_->engine.append(state_->memory, characters(piece), piece.size());
}

std::uint64_t RiegeliHasher::finish() { return state_->engine.finish(state_->memory); }

std::uint64_t riegeli_hash(Bytes bytes) { return best_engine().hash(kKey, characters(bytes), bytes.size()); }

}  // namespace recordfs
