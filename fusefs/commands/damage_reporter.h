// Reports each damaged region of a scan once, and adds it to the exit status.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/store/record_store.h"
#include "core/store/scan_results.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/scan.h"

namespace recordfs {

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

  // Calls `work` for the chunks of a scan as recordfs::scan() does, and reports the damage for which `takes` is true.
  // Returns false if the scan failed, after printing why.
  bool scan(ScanOptions options, const std::function<bool(const DamageRow&)>& takes, const WorkOnChunk& work);
  // The same from the first selected chunk to the last, with the damage between them.
  bool scan(const Selection& selection, const WorkOnChunk& work);

 private:
  void report(const DamagedRegion& region);

  const std::string& path_;
  const RecordStore& store_;
  CommandContext& context_;
  Regions regions_;
  std::set<Position> unfinished_;  // reported
};

}  // namespace recordfs
