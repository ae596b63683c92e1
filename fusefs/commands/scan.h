// A scan: the chunks of a container in its order, decoded and worked on by all cores, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// What a scan hands out, in the container's order: at most one chunk, and the damage that was met on the way to it and
// inside it, which stands in the file before the chunk's end.
struct ScannedStep {
  std::optional<IndexedChunk> indexed;
  std::vector<DamageRow> damage;
};

struct ScanOptions {
  std::optional<IndexedChunk> from{};  // where to begin; without it at the container's beginning
  unsigned threads = 1;                // that work, beside the one that scans
  std::uint64_t memory = 64ull << 20;  // of decoded chunks that are waited for; one chunk alone may pass it
  // Ends before the first chunk whose first record has this ordinal or a later one,
  std::uint64_t end_record = UINT64_MAX;
  // and before the first that begins at this byte or behind: where the container is in file order.
  Position end_position = UINT64_MAX;
};

// What is done with the result of a piece of work, in the container's order. False: nothing more is wanted.
using Finish = std::function<bool()>;
// Works on a step, on any thread, and returns what is left to be done in order; it may be empty. Must not throw.
using Work = std::function<Finish(const ScannedStep& step)>;

// Scans the container, has `work` done on each step by `threads` threads at once, and calls what it returns on
// the calling thread, one after the other. Without chunks in the way the first result comes as soon as its chunk was
// worked on. Returns the sums over what was scanned. Fails as Scanner::step does, after everything before the
// failure was finished. Not from a task of the executor.
Result<PrefixSums> scan(const RecordStore& store, const ScanOptions& options, const Work& work);

}  // namespace recordfs
