// Reports each damaged region of a scan once, and adds it to the exit status.
#pragma once

#include <set>
#include <string>

#include "core/store/record_store.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/regions.h"

namespace recordfs {

// For one container. Not thread-safe.
class FoundDamage {
 public:
  // `path` names the container in messages. The arguments must outlive the object.
  FoundDamage(const std::string& path, const RecordStore& store, CommandContext& context)
      : path_(path),
        store_(store),
        context_(context),
        regions_([this](const DamagedRegion& region) { report(region); }) {}
  ~FoundDamage() { finish(); }
  FoundDamage(const FoundDamage&) = delete;
  FoundDamage& operator=(const FoundDamage&) = delete;

  // Adds the scan's next region. Joins pieces of a region that several steps report.
  void add(const DamagedRegion& region);
  // Reports the last region, which might have continued.
  void finish() { regions_.finish(); }

 private:
  void report(const DamagedRegion& region);

  const std::string& path_;
  const RecordStore& store_;
  CommandContext& context_;
  Regions regions_;
  std::set<Position> said_;
};

}  // namespace recordfs
