// What a scan finds: chunks and damaged regions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// A position from which scan() can continue, with the state that the format needs there. Valid only for the container
// that returned it.
struct ChunkKey {
  Position position = 0;
  std::uint64_t state = 0;  // defined by the format
  bool operator==(const ChunkKey&) const = default;
};

// The cost of finding the record sizes of a chunk.
enum class LayoutCost : std::uint8_t {
  kSmall,   // a few bytes or a table of sizes: cheap enough for a listing with attributes
  kDecode,  // the whole chunk must be decoded
};

// The kind of a chunk: a value of an enum of its format, and the word that shows it.
class ChunkKind {
 public:
  constexpr ChunkKind() = default;
  // `word`: static storage, no white space.
  constexpr explicit ChunkKind(std::string_view word) : word_(word) {}
  template <class Enum>
  constexpr ChunkKind(Enum value, std::string_view word) : value_(static_cast<std::uint8_t>(value)), word_(word) {}

  // Returns the value. REQUIRES: the kind was made from one of this enum.
  template <class Enum>
  constexpr Enum as() const {
    return static_cast<Enum>(value_);
  }
  constexpr std::string_view word() const { return word_; }
  bool operator==(const ChunkKind&) const = default;

 private:
  std::uint8_t value_ = 0;
  std::string_view word_;
};

// The contents of a chunk's header.
struct ChunkInfo {
  ChunkKey key;        // scan(key) gives this chunk again; key.position == begin
  Position begin = 0;  // the chunk is the file's bytes [begin, end)
  Position end = 0;
  ChunkKind kind;
  std::string_view codec;                // "none", "zstd", ...; "-" if unknown: static storage
  std::optional<std::uint64_t> records;  // nullopt: layout() is needed
  std::optional<std::uint64_t>
      decoded_size;                  // sum of all record sizes; nullopt: layout() is needed, or !could_be_read()
  std::uint64_t decoded_beside = 0;  // decoded bytes that belong to no record, such as metadata
  std::uint64_t stored_size = 0;     // bytes of payload as stored
  LayoutCost layout_cost = LayoutCost::kSmall;
  std::array<std::uint64_t, 2> detail{};  // defined by the format

  // Returns the number of decoded bytes including decoded_beside; nullopt if decoded_size is.
  std::optional<std::uint64_t> payload_size() const {
    if (!decoded_size) return std::nullopt;
    return *decoded_size + std::min(decoded_beside, UINT64_MAX - *decoded_size);
  }
};

enum class DamageClass : std::uint8_t { kDamage, kUnfinished, kStale, kUnsupported };

// Returns the name of a class in index/damage.tsv.
std::string_view to_string(DamageClass damage_class);

// A region of the file that the scan found invalid. begin < end.
struct DamagedRegion {
  Position begin = 0;
  Position end = 0;
  DamageClass damage_class = DamageClass::kDamage;
  std::uint64_t records_before = 0;             // records of the same step's chunk that precede the region
  std::optional<std::uint64_t> records_lost{};  // nullopt: unknown
  std::string reason{};
  std::uint64_t least_lost{};  // if records_lost is unknown: at least as many
};

// Returns a region with an unknown number of lost records.
inline DamagedRegion damaged_region(Position begin, Position end, std::string_view reason,
                                    DamageClass damage_class = DamageClass::kDamage) {
  return {.begin = begin, .end = end, .damage_class = damage_class, .reason = std::string(reason)};
}

// One step of a scan: at most one chunk, with the damage before and inside it, in file order. A step with neither
// chunk nor damage only reports the progress of a search.
struct Step {
  std::optional<ChunkInfo> chunk;
  std::vector<DamagedRegion> damage;  // adjacent regions of two steps with equal class and reason are one
  std::optional<ChunkKey> next;       // where to continue; nullopt: the end of the container
};

}  // namespace recordfs
