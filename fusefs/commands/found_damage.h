// The damage that a scan meets on its way: each region is said once, and counts for the exit status.
#pragma once

#include <set>
#include <string>

#include "core/store/record_store.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/regions.h"

namespace recordfs {

// For one container. One thread.
class FoundDamage {
 public:
  // `path` is the container's name for people. What is given has to outlive the object.
  FoundDamage(const std::string& path, const RecordStore& store, CommandContext& context)
      : path_(path),
        store_(store),
        context_(context),
        regions_([this](const DamagedRegion& region) { report(region); }) {}
  ~FoundDamage() { finish(); }
  FoundDamage(const FoundDamage&) = delete;
  FoundDamage& operator=(const FoundDamage&) = delete;

  // The next region of a scan. Pieces of one region, which several steps tell of, are said as one.
  void add(const DamagedRegion& region);
  // Says what has been held back because it might have gone on.
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
