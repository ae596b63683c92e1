// What all containers of a process share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/store/decode_budget.h"
#include "core/store/executor.h"
#include "core/store/key_index.h"
#include "core/store/log.h"
#include "core/store/saved_index.h"
#include "core/store/shared_cache.h"

namespace recordfs {

struct DecodeBudgets {
  DecodeBudgets(std::uint64_t bytes, std::function<void()> on_slow) : small(bytes), slow(bytes, std::move(on_slow)) {}

  DecodeBudget small;  // for large chunks whose decoding is not slow, so that slow ones do not delay them
  DecodeBudget slow;   // for all others; a new share drops cached values that exceed the cache's capacity
};

// A decoded chunk, with what was known of it when it was decoded.
struct CachedChunk {
  ChunkInfo info;
  std::shared_ptr<const Chunk> chunk;
  std::uint64_t memory() const { return sizeof(*this) + chunk->memory(); }
};

// Bounds the caches: `cache_bytes` are split 7:1 between chunks and layouts.
struct Services {
  explicit Services(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
      : chunks(cache_bytes - cache_bytes / 8), layouts(cache_bytes / 8), executor(threads), log(std::move(log_lines)) {}

  // Returns the budgets for a filesystem, as in Source::filesystem(). Each budget is as large as both caches together.
  // If one filesystem hangs, its shares do not delay the others. Any thread.
  DecodeBudgets& budgets_of(std::uint64_t filesystem) {
    const std::lock_guard lock(budgets_mutex);
    const auto forget_excess = [this] {
      chunks.forget_excess();
      layouts.forget_excess();
    };
    return budgets.try_emplace(filesystem, chunks.capacity() + layouts.capacity(), forget_excess).first->second;
  }

  SharedCache<CachedChunk> chunks;
  SharedCache<Layout> layouts;
  std::mutex budgets_mutex;  // guards the next
  std::map<std::uint64_t, DecodeBudgets> budgets;
  Executor executor;  // declared after the caches, which its tasks use
  Log log;
  std::optional<IndexLocation> index;           // where to save indexes; nullopt: nowhere
  KeyIndex::Bounds keys;                        // of each container
  std::atomic<std::uint64_t> decoded_bytes{0};  // of all decoded chunks; of a chunk read on demand, its full size
  bool reads_whole_files = false;               // scans read the bytes between headers too, in large pieces
  unsigned address_bits = 58;                   // of a record's address; fewer if containers share one number space
};

}  // namespace recordfs
