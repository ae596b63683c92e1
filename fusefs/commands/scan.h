// Scans a container's chunks in order, decoding and processing them on several threads in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// At most one chunk, and the damage found before its end.
struct ScannedStep {
  std::optional<IndexedChunk> indexed;
  std::vector<DamageRow> damage;
};

struct ScanOptions {
  std::optional<IndexedChunk> from{};  // default: the beginning of the container
  unsigned threads = 1;                // workers, besides the calling thread
  std::uint64_t memory = 64ull << 20;  // of decoded chunks that wait; one chunk alone may exceed it
  // Stops before the first chunk whose first record has this ordinal or a later one,
  std::uint64_t end_record = UINT64_MAX;
  // and before the first that begins at this byte or later. REQUIRES: the container is in file order.
  Position end_position = UINT64_MAX;
};

// Handles a result, in the container's order. Returns false to stop.
using Finish = std::function<bool()>;
// Processes a step on any thread, in a context that reads from the scan's pieces. Returns what remains to do in order,
// or an empty function. May throw std::bad_alloc.
using Work = std::function<Finish(const RequestContext& context, const ScannedStep& step)>;

// Calls `work` for each step, on several threads, and its results on the calling thread, one at a time. The first
// result comes as soon as its chunk was processed. Returns the totals of what was scanned. Fails as Scanner::step does,
// and with kOutOfMemory if `work` throws, after finishing everything before the failure. REQUIRES: not called from a
// task of the executor.
Result<PrefixSums> scan(const RecordStore& store, const ScanOptions& options, const Work& work);

}  // namespace recordfs
