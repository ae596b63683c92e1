// The damage that a walk meets on its way: each region is said once, and counts for the exit status.
#pragma once

#include <set>
#include <string>

#include "core/store/record_store.h"
#include "fusefs/commands/regions.h"
#include "fusefs/commands/workspace.h"

namespace recordfs {

// For one container. One thread.
class FoundDamage {
 public:
  // `path` is the container's name for people. What is given has to outlive the object.
  FoundDamage(const std::string& path, const RecordStore& store, Workspace& workspace)
      : path_(path),
        store_(store),
        workspace_(workspace),
        regions_([this](const DamagedRegion& region) { report(region); }) {}
  ~FoundDamage() { finish(); }
  FoundDamage(const FoundDamage&) = delete;
  FoundDamage& operator=(const FoundDamage&) = delete;

  // The next region of a walk. Pieces of one region, which several steps tell of, are said as one.
  void add(const DamagedRegion& region);
  // Says what has been held back because it might have gone on.
  void finish() { regions_.finish(); }

 private:
  void report(const DamagedRegion& region);

  const std::string& path_;
  const RecordStore& store_;
  Workspace& workspace_;
  Regions regions_;
  std::set<Position> said_;
};

}  // namespace recordfs
