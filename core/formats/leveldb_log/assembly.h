// Puts fragments together into records. The state machine of the format, in one place; scan, layout, decode
// and locate all go through it, so they can't disagree. FORMAT.md, "Records".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {

// Takes the pieces of records as they go by. begin, piece..., and size and keep when the record turned out
// to be whole and within the limits; the next begin() otherwise.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void begin(Position at) = 0;
  virtual Result<void> piece(const Fragment& fragment, Bytes payload) = 0;
  // The decoded size of the record whose pieces have come; at most `limit`, or anything larger.
  virtual Result<std::uint64_t> size(std::uint64_t limit) = 0;
  virtual Result<void> keep() = 0;
};

// The sound records that begin in one frame.
struct Tally {
  Position begin = 0;  // the first header of the first of them
  Position end = 0;    // behind the last payload byte of the last of them
  std::uint64_t records = 0;
  std::uint64_t decoded = 0;
  std::uint64_t stored = 0;
  std::uint64_t fragments = 0;
};

// Appends a region, or widens the last one where the two touch and have the same cause.
void add_region(std::vector<DamagedRegion>& regions, DamagedRegion region);

class Assembly {
 public:
  Assembly(ItemReader& items, const Limits& limits, RecordSink& sink) : items_(&items), limits_(limits), sink_(&sink) {}

  // Where a walk stands between two frames' records.
  struct Place {
    Position position = 0;
    // In a record that was refused for its size: pieces that follow belong to it.
    bool in_refused = false;
  };

  // Reads the items from `from` to the end of its frame, and follows a record that begins there into later
  // frames to its end. Returns where the next frame's turn begins; it is > from. Damage never fails it; the
  // source and the sink do. Call once. REQUIRES: from.position < size.
  Result<Place> run(Place from);

  // What run() found. Regions are in file order and those that touch with equal cause are one.
  const Tally& tally() const { return tally_; }
  std::vector<DamagedRegion>& damage() { return damage_; }

 private:
  struct Open {
    Position begin = 0;
    std::uint64_t stored = 0;
    std::uint64_t fragments = 0;
  };

  Result<void> take(const Item& item);
  Result<void> take_data(const Item& item);
  Result<void> take_piece(const Item& item);
  Result<void> complete(Position end);
  static bool goes_on_with(const Item& item);
  void give_up(const Item* cause, Position end);
  void refuse(Position end);
  void report_record(Position begin, Position end, Flaw flaw);
  void report(Position begin, Position end, Flaw flaw);

  ItemReader* items_;
  Limits limits_;
  RecordSink* sink_;
  Tally tally_;
  std::vector<DamagedRegion> damage_;
  std::optional<Open> open_;
  bool in_refused_ = false;
};

}  // namespace recordfs::leveldb_log
