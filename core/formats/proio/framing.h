// Scans the sequence of buckets, and searches for the next one after damage. FORMAT.md, "Scan".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/header.h"
#include "core/formats/proio/payload.h"
#include "core/formats/resync.h"

namespace recordfs::proio {

// Returns why a bucket with `stored` bytes cannot hold the events that its header counts; "" if it can.
std::string refused_count(const BucketHeader& header, std::uint64_t stored, const Limits& limits);

// Positions in larger files do not fit into ChunkKey::state.
inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 62;

// Const and thread-safe. REQUIRES: `source`, of at most kLargestFile bytes, and `limits` outlive the object.
class Framing {
 public:
  Framing(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  // As Container::scan(). ChunkKey::state holds the position where an unfinished search continues, or 0, and what is
  // known about the end of the file.
  Result<Step> scan(const RequestContext& context, ChunkKey key) const;

  struct Found : ResyncResult {
    BucketHeader header{};  // set for kFound
  };
  // Finds the next valid header at or after `from`. Reads about Limits::scan_bytes. Fails as Source does.
  Result<Found> search(const RequestContext& context, Position from) const;

 private:
  Result<Step> take_bucket(ChunkKey key, HeaderReading reading) const;
  Result<Step> take_torn_bucket(const RequestContext& context, ChunkKey key, HeaderReading reading) const;
  Result<Step> take_cut_bucket(const RequestContext& context, ChunkKey key, HeaderReading reading, Position from) const;
  Result<Step> take_torn_header(const RequestContext& context, ChunkKey key, const HeaderReading& reading) const;
  Result<std::optional<Step>> look_for_end(const RequestContext& context, ChunkKey key, Position from) const;
  Step end_at_bucket(ChunkKey key, const BucketHeader& header, Position end) const;
  Step end_inside(ChunkKey key, HeaderReading reading, std::uint64_t events, Position end) const;
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key, const HeaderReading& reading,
                           Position search_from) const;
  std::optional<ChunkKey> next_after(ChunkKey key, Position end) const;
  Result<EventRun> events_there(const RequestContext& context, const BucketHeader& header) const;

  const Source& source_;
  const Limits& limits_;
};

// The meaning of ChunkInfo::detail in this format.
inline Position payload_begin(const ChunkInfo& chunk) { return chunk.detail[0]; }
inline std::uint32_t compression_of(const ChunkInfo& chunk) { return static_cast<std::uint32_t>(chunk.detail[1]); }
bool has_attributes(const ChunkInfo& chunk);

}  // namespace recordfs::proio
