// Scans a container's chunks in order, and decodes and processes them on several threads in bounded memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/bulk.h"
#include "core/store/record_store.h"
#include "core/store/scanner.h"

namespace recordfs {

// At most one chunk, and the damage found before its end.
struct ScannedStep {
  std::optional<IndexedChunk> indexed;
  std::vector<DamageRow> damage;
};

// Consecutive intact chunks that were read together.
struct ScannedBatch {
  RecordBatch content;
  PrefixSums before{};  // known when OrderedResult is called, and to ProcessBatch if BulkReader::plans_records()
};

struct ScanOptions {
  std::optional<IndexedChunk> from{};  // default: the beginning of the container
  unsigned threads = 1;                // that work, the calling one included; 0 counts as 1
  std::uint64_t memory = 64ull << 20;  // of decoded chunks that wait; one chunk alone may exceed it
  std::uint64_t bytes_per_record = 0;  // expected memory of what `work` makes of a record, such as its text
  // Stops before the first chunk whose first record has this ordinal or a later one,
  std::uint64_t end_record = UINT64_MAX;
  // and before the first that begins at this byte or later. REQUIRES: the container is in file order.
  Position end_position = UINT64_MAX;
  // false: `work` does not decode chunks whose layout needs no decoding.
  bool decodes = true;
  // Ends the scan with kInterrupted when it becomes true; null: the scan cannot be cancelled.
  const std::atomic<bool>* cancelled = nullptr;
};

// Handles a result, in the container's order. Returns false to stop.
using OrderedResult = std::function<bool()>;
// Processes a step on any thread, in a context that reads from the scan's pieces. Returns what remains to do in order,
// or an empty function. May throw std::bad_alloc.
using ProcessStep = std::function<OrderedResult(const RequestContext& context, const ScannedStep& step)>;
// Does the same for a batch, which its result may share.
using ProcessBatch = std::function<OrderedResult(const std::shared_ptr<const ScannedBatch>& batch)>;

// The sums of what was scanned; after batches, without rows.
struct ScanEnd : PrefixSums {
  bool was_stopped = false;  // by an OrderedResult
};

// Calls `work` for each step, on several threads, and its results on the calling thread, one at a time. The first
// result comes as soon as its chunk was processed. With `work_on_batch`, many small chunks without damage are batches
// instead of steps, if the format supports that. Fails as Scanner::step does, with kOutOfMemory if `work` throws, and
// with kLimit before the chunk that follows more than largest_decoded_file() bytes of others, after finishing
// everything before the failure. REQUIRES: not called from a task of the executor.
Result<ScanEnd> scan(const RecordStore& store, const ScanOptions& options, const ProcessStep& work,
                     const ProcessBatch& work_on_batch = {});

// Joins pieces of damaged regions that several steps of a scan report. Passes each whole region to `take` once, when
// its end is known. REQUIRES: regions in the order of the scan. Not thread-safe.
class Regions {
 public:
  explicit Regions(std::function<void(const DamagedRegion& region)> take) : take_(std::move(take)) {}

  void add(const DamagedRegion& region) {
    if (last_ && join_regions(*last_, region, region.records_before > 0)) return;
    finish();
    last_ = region;
  }
  // Passes on the last region, which might have continued.
  void finish() {
    if (const auto region = std::exchange(last_, std::nullopt)) take_(*region);
  }

 private:
  const std::function<void(const DamagedRegion& region)> take_;
  std::optional<DamagedRegion> last_;
};

}  // namespace recordfs
