// The row of buckets, and the way from a damaged place to the next one. FORMAT.md, "Walk".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/header.h"
#include "core/formats/proio/payload.h"

namespace recordfs::proio {

// What is larger leaves no room in ChunkKey::state.
inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 62;

// Const and thread-safe; `source`, of kLargestFile bytes at the most, and `limits` have to outlive it.
class Framing {
 public:
  Framing(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  // As Container::scan. ChunkKey::state is where a search that one step did not end goes on, or 0, and what is known of
  // the file's end.
  Result<Step> scan(ChunkKey key) const;

  struct Found {
    enum class Kind : std::uint8_t {
      kBucket,   // a sound header, at `at`
      kLater,    // none before `at`; the search may go on there
      kNothing,  // none up to the end of the file
    };
    Kind kind = Kind::kNothing;
    Position at = 0;
    BucketHeader header{};  // of a bucket
  };
  // The next sound header from `from` on. Reads about Limits::scan_bytes. Fails as Source does.
  Result<Found> search(Position from) const;

 private:
  Result<Step> take_bucket(ChunkKey key, HeaderReading reading) const;
  Result<Step> take_torn_bucket(ChunkKey key, HeaderReading reading) const;
  Result<Step> take_cut_bucket(ChunkKey key, HeaderReading reading, Position from) const;
  Result<Step> take_torn_header(ChunkKey key, const HeaderReading& reading) const;
  Result<std::optional<Step>> look_for_end(ChunkKey key, Position from) const;
  Step end_at_bucket(ChunkKey key, const BucketHeader& header, Position end) const;
  Step end_inside(ChunkKey key, HeaderReading reading, std::uint64_t events, Position end) const;
  Result<Step> pass_damage(ChunkKey key, const HeaderReading& reading, Position search_from) const;
  std::optional<ChunkKey> next_after(ChunkKey key, Position end) const;
  Result<EventRun> events_there(const BucketHeader& header) const;

  const Source& source_;
  const Limits& limits_;
};

// What ChunkInfo::detail holds for this format.
inline Position payload_begin(const ChunkInfo& chunk) { return chunk.detail[0]; }
inline std::uint32_t compression_of(const ChunkInfo& chunk) { return static_cast<std::uint32_t>(chunk.detail[1]); }
bool has_attributes(const ChunkInfo& chunk);

}  // namespace recordfs::proio
