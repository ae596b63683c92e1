// Assembles fragments into records. The state machine of the format: scan, layout, decode and locate all use it, so
// they always agree. FORMAT.md, "Records".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// The compression of a log's records.
struct Compression {
  enum class Kind : std::uint8_t {
    kNone,
    kZstd,
    kUnknown,  // an unknown number
    kLost,     // there may be one, but the fragment that names it is damaged
  };
  Kind kind = Kind::kNone;
  std::uint32_t number = 0;  // as stored

  // Returns "none", "zstd", or "-". Static storage.
  std::string_view codec() const;
};

// The sinks receive the records of an Assembly, for scan, layout, decode and open_in_place.
//
// Receives the pieces of records in order: begin, piece..., then size and keep if the record is complete and within
// the limits. Otherwise the next call is begin() again. Determines the size of each record, as scan needs it.
class SizeSink {
 public:
  explicit SizeSink(Compression compression) : compression_(compression) {}
  virtual ~SizeSink() = default;
  virtual void begin(Position at);
  virtual Result<void> piece(const RequestContext& context, const Fragment& fragment, Bytes payload);
  // Returns the decoded size of the record; any number above `limit` if it is larger than that.
  Result<std::uint64_t> size(const RequestContext& context, std::uint64_t limit);
  virtual Result<void> keep(const RequestContext&) { return {}; }

 protected:
  const Compression& compression() const { return compression_; }
  // The current record: where it begins, and its stored bytes, as far as wants_stored() asked for them.
  Position record_begin() const { return begin_; }
  Bytes stored() const { return stored_; }
  std::uint64_t decoded_size() const { return decoded_size_; }
  // Returns why the record cannot be read although its fragments are valid, as far as its size shows.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  // Returns whether more of the record's stored bytes are needed.
  virtual bool wants_stored() const;

  Compression compression_;
  Position begin_ = 0;
  std::uint64_t stored_size_ = 0;
  std::uint64_t decoded_size_ = 0;
  std::vector<std::byte> stored_;
  std::optional<Error> failure_;
};

// Determines the positions of the records in the decoded chunk.
class LayoutSink : public SizeSink {
 public:
  using SizeSink::SizeSink;
  Result<void> keep(const RequestContext& context) override;
  Layout take_layout() { return std::move(layout_); }

 protected:
  // Marks the current record as unreadable.
  void keep_failed(const RequestContext& context, const Error& why) {
    layout_.add_failed(context, decoded_size(), why);
  }
  std::uint64_t kept() const { return layout_.end(); }

 private:
  Layout layout_;
};

// Decodes all records into one buffer.
class DecodeSink final : public LayoutSink {
 public:
  // `payload` has the total size of all records, as counted by scan.
  DecodeSink(Compression compression, MutableBytes payload) : LayoutSink(compression), payload_(payload) {}
  void begin(Position at) override;
  Result<void> piece(const RequestContext& context, const Fragment& fragment, Bytes payload) override;
  Result<void> keep(const RequestContext& context) override;

 private:
  bool wants_stored() const override { return compression().kind == Compression::Kind::kZstd; }

  MutableBytes payload_;
  std::uint64_t copied_ = 0;  // bytes of the current uncompressed record
};

// A fragment of a record as a piece of the decoded chunk.
struct Piece {
  std::uint64_t offset = 0;  // offset of its payload in the decoded chunk
  Position begin = 0;        // of its header in the file
};

// Records the file position of each fragment. For uncompressed records.
class PieceSink final : public LayoutSink {
 public:
  PieceSink() : LayoutSink(Compression{}) {}
  void begin(Position at) override;
  Result<void> piece(const RequestContext& context, const Fragment& fragment, Bytes payload) override;
  Result<void> keep(const RequestContext& context) override;
  std::vector<Piece> take_pieces();

 private:
  std::vector<Piece> pieces_;
  std::size_t kept_pieces_ = 0;
  std::uint64_t pending_ = 0;
};

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
