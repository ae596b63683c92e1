// Assembles fragments into records. The state machine of the format: scan, layout, decode and locate all use it, so
// they always agree. FORMAT.md, "Records".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/leveldb_log/sinks.h"

namespace recordfs::leveldb_log {

// The valid records that begin in one frame.
struct Tally {
  Position begin = 0;  // the first header of the first record
  Position end = 0;    // after the last payload byte of the last record
  std::uint64_t records = 0;
  std::uint64_t decoded = 0;
  std::uint64_t stored = 0;
  std::uint64_t fragments = 0;
};

// Appends a region, or extends the last one if they are adjacent and have the same cause.
void add_region(std::vector<DamagedRegion>& regions, DamagedRegion region);

class Assembly {
 public:
  Assembly(ItemReader& items, const Limits& limits, SizeSink& sink) : items_(&items), limits_(limits), sink_(&sink) {}

  // The position of a scan between the records of two frames.
  struct Place {
    Position position = 0;
    // Inside a record that was refused for its size: following pieces belong to it.
    bool in_refused = false;
  };

  // Reads the items from `from` to the end of its frame, and follows a record that begins there into later frames to
  // its end. Returns where to continue; it is > from. Fails only as the source and the sink do, never for damage. Call
  // once. REQUIRES: from.position < size.
  Result<Place> run(const RequestContext& context, Place from);

  // The results of run(). Regions are in file order; adjacent ones with equal cause are merged.
  const Tally& tally() const { return tally_; }
  std::vector<DamagedRegion>& damage() { return damage_; }

 private:
  struct Open {
    Position begin = 0;
    std::uint64_t stored = 0;
    std::uint64_t fragments = 0;
  };

  Result<void> take(const RequestContext& context, const Item& item);
  Result<void> take_data(const RequestContext& context, const Item& item);
  Result<void> take_piece(const RequestContext& context, const Item& item);
  Result<void> complete(const RequestContext& context, Position end);
  static bool goes_on_with(const Item& item);
  void give_up(const Item* cause, Position end);
  void refuse(Position end);
  void report_record(Position begin, Position end, Flaw flaw);
  void report(Position begin, Position end, Flaw flaw);

  ItemReader* items_;
  Limits limits_;
  SizeSink* sink_;
  Tally tally_;
  std::vector<DamagedRegion> damage_;
  std::optional<Open> open_;
  bool in_refused_ = false;
};

}  // namespace recordfs::leveldb_log
