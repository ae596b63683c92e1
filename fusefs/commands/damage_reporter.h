// Scans a container for a command, and reports the damage that the scan finds once, as part of the exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "core/store/parallel_scan.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"
#include "fusefs/commands/command_context.h"

namespace recordfs {

// For one container. Not thread-safe.
class DamageReporter {
 public:
  // Processes a chunk as Work does.
  using WorkOnChunk = std::function<Finish(const RequestContext& context, const IndexedChunk& indexed)>;

  // `path` names the container in messages. The arguments must outlive the object.
  DamageReporter(const std::string& path, const RecordStore& store, CommandContext& context)
      : path_(path),
        store_(store),
        context_(context),
        regions_([this](const DamagedRegion& region) { report(region); }) {}
  ~DamageReporter() { finish(); }
  DamageReporter(const DamageReporter&) = delete;
  DamageReporter& operator=(const DamageReporter&) = delete;

  // Adds a scan's next region.
  void add(const DamagedRegion& region);
  // Reports the last region, which might have continued.
  void finish() { regions_.finish(); }
  // Returns the number of records before the place where the last scan() ended: all of the container's if that is its
  // end.
  std::uint64_t scanned_records() const { return scanned_records_; }

  // Calls `work` for the chunks of a scan, or `work_on_batch`, as recordfs::scan() does, and reports the damage for
  // which `takes` is true. Returns false if the scan failed, after printing why.
  bool scan(ScanOptions options, const std::function<bool(const DamageRow&)>& takes, const WorkOnChunk& work,
            const WorkOnBatch& work_on_batch = {});
  // The same from the first selected chunk to the last, with the damage between them. `bytes_per_record` and `decodes`
  // are those of ScanOptions.
  bool scan(const Selection& selection, const WorkOnChunk& work, const WorkOnBatch& work_on_batch = {},
            std::uint64_t bytes_per_record = 0, bool decodes = true);

 private:
  void report(const DamagedRegion& region);

  const std::string& path_;
  const RecordStore& store_;
  CommandContext& context_;
  Regions regions_;
  std::set<Position> unfinished_;  // reported
  std::uint64_t scanned_records_ = 0;
};

}  // namespace recordfs
