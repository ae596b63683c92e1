// Reads a container, and reports the damage that is found, once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "core/dataset/ordered_pass.h"
#include "core/dataset/reporter.h"
#include "core/store/record_store.h"

namespace recordfs {

// For one container. Not thread-safe.
class DamageReporter {
 public:
  // Processes a chunk as Work does.
  using WorkOnChunk = std::function<OrderedResult(const RequestContext& context, const IndexedChunk& indexed)>;

  // `path` names the container in messages. The arguments must outlive the object.
  DamageReporter(const std::string& path, const RecordStore& store, Reporter& reporter)
      : path_(path),
        store_(store),
        reporter_(reporter),
        regions_([this](const DamagedRegion& region) { report(region); }) {}
  ~DamageReporter() { finish(); }
  DamageReporter(const DamageReporter&) = delete;
  DamageReporter& operator=(const DamageReporter&) = delete;

  // Adds a scan's next region.
  void add(const DamagedRegion& region);
  // Reports the last region, which might have continued.
  void finish() { regions_.finish(); }

  // Reads a part as read_part() does, and reports its damage. Returns the number of records before the place where
  // reading ended; nullopt if a result stopped it, or after reporting why it failed.
  std::optional<std::uint64_t> read(const PassPart& part, const ScanOptions& options, const WorkOnChunk& work,
                                    const ProcessBatch& work_on_batch = {});

 private:
  void report(const DamagedRegion& region);

  const std::string& path_;
  const RecordStore& store_;
  Reporter& reporter_;
  Regions regions_;
  std::set<Position> unfinished_;  // reported
};

}  // namespace recordfs
