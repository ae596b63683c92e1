// What the mount's inode numbers mean. Every number but a part's and a key's is computed from what it names, so
// the mount keeps no state for a record, and a path has the same number in every mount.
//
// The upper five bits are the kind, the rest a value: a place in the container (a chunk's begin, or a
// chunk's begin plus the record's index, which no other record of the container has), or a small number.
// With several containers each has a range of values of its own, begun at a hash of its name. Numbers
// grow with the record's place, because tools that walk large directories sort by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// In a directory of thousands/.
inline constexpr std::uint64_t kThousandRecords = 1000;

enum class NodeKind : std::uint8_t {
  kStatic,  // value: a StaticNode
  kRecord,  // value: begin of the chunk + index in it
  kChunk,   // the following: begin of the chunk
  kChunkRecords,
  kChunkInfo,
  kChunkRaw,
  kChunkData,
  kChunkAlias,  // a link to the chunk's directory under its listed name
  kThousand,    // value: ordinal / kThousandRecords
  kThousandAlias,
  kDamage,        // value: begin of the region
  kAttribute,     // value: number of the attribute
  kInsideRecord,  // the record's directory in inside/; value as of kRecord
  kInsideAlias,   // value: ordinal
  kRecordJson,    // what the record says; value as of kRecord
  kChunkJsonl,    // value: begin of the chunk
  kKeyFamily,     // the directory of a column family's keys; value: number of the family
  kKeyNames,      // names.tsv of a family's keys, of the first family too; value as before

  kComputedEnd,  // the numbers of those before it are computed, and of those behind it not
  kKey = 29,     // value: number of the key, all 64 bits of it (KnownRecords)
  kPart,         // value as of kRecord, and a number in Inside (KnownRecords)
  kMirrored,     // in a mirrored directory (KnownNodes)
};
inline constexpr auto kNodeKinds = static_cast<std::uint64_t>(NodeKind::kComputedEnd);
inline constexpr int kValueBits = 59;
inline constexpr std::uint64_t kValuesOfAKind = std::uint64_t{1} << kValueBits;

// The nodes that every container has once. The first is the container's own directory.
enum StaticNode : std::uint64_t {
  kRoot = 1,
  kInfo,
  kRecords,
  kMetadata,
  kNames,
  kTrailer,
  kChunksLink,
  kThousandsLink,
  kIndexLink,
  kDamageLink,
  kStreamsLink,
  kViews,
  kChunks,
  kThousands,
  kIndex,
  kDamageRegions,
  kStreams,
  kChunkRows,
  kDamageRows,
  kSummary,
  kConcat,
  kLines,
  kInsideLink,
  kInside,
  kWholeLink,
  kWhole,
  kKeysLink,
  kKeys,
  kKeyFamilies,
  kStaticEnd,
};

struct Node {
  NodeKind kind = NodeKind::kStatic;
  std::uint64_t value = kRoot;
  std::uint64_t part = 0;  // of kPart
  bool operator==(const Node&) const = default;
};

// What stat() shows for a path in a mirrored directory: a hash of the path in the mount.
std::uint64_t mirrored_inode(std::string_view path);

// The number of a container's node whose range begins at `begin`. REQUIRES: not of kPart or kKey.
std::uint64_t number_in(std::uint64_t begin, Node node);

// What stat() shows, for each kind: the number itself where it is a computed one, otherwise a hash of what the node
// names, so that this too is the same in every mount.
std::uint64_t inode_in(std::uint64_t begin, Node node);

// The ranges of numbers of a mount's containers. Immutable once built; then any thread.
class InodeMap {
 public:
  // One container whose numbers begin at 0, so that its directory is the mount's root.
  static InodeMap single();

  // How many bits the values of each of so many containers may have, so that add() finds a range for all of them
  // wherever their names put them. Of a record's address: Services::address_bits.
  static unsigned value_bits(std::size_t containers);

  // Gives the next container a range. `name`: its directory's name; `values`: how many values it needs at
  // the most. Containers get the same range in every mount unless two ranges would overlap.
  void add(std::string_view name, std::uint64_t values);

  // Where the range of a container begins.
  std::uint64_t begin(std::size_t container) const { return begins_[container]; }

  // A range for a container, wherever the others lie.
  struct Wanted {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
  };
  static Wanted wanted(std::string_view name, std::uint64_t values);

  // All ranges, as pairs of begin and end.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken() const;

  // REQUIRES: not of kPart or kKey.
  std::uint64_t number(std::size_t container, Node node) const { return number_in(begins_[container], node); }
  std::uint64_t inode(std::size_t container, Node node) const { return inode_in(begins_[container], node); }

  struct ResolvedInode {
    std::size_t container = 0;
    Node node;
  };
  // What a number names; nullopt when it can't be one of ours.
  std::optional<ResolvedInode> find(std::uint64_t number) const;

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t container = 0;
  };
  // Moves `begin` up to where `length` values are free, and says which range stands behind them.
  std::vector<Range>::const_iterator free_range(std::uint64_t& begin, std::uint64_t length) const;

  std::vector<std::uint64_t> begins_;  // by container
  std::vector<Range> ranges_;          // sorted by begin
};

}  // namespace recordfs
