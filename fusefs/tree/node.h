// Node numbers and inode numbers of the mount. A node is a file, directory or link. The kernel names it by its number,
// and `stat` shows its inode number.
//
// A number is a kind in the upper five bits and a value in the other 59. It is computed from the node, so the mount
// keeps no state per record, and a path has the same number in every mount. Parts and keys (KnownRecords) and mirrored
// files (KnownNodes) do not fit into a number and have tables. Inode numbers never depend on a table.
//
// With several containers, each has its own range of values, which starts at a hash of its name. Numbers increase with
// a record's position, because programs that walk large directories sort by inode number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// The number of the mount's root, and its inode number.
inline constexpr std::uint64_t kMountRoot = 1;

// Records per directory in thousands/.
inline constexpr std::uint64_t kThousandRecords = 1000;

enum class NodeKind : std::uint8_t {
  kStatic,  // value: StaticNode
  kRecord,  // value: RecordStore::address()
  kChunk,   // value of this and the next four: begin of the chunk
  kChunkRecords,
  kChunkInfo,
  kChunkRaw,
  kChunkData,
  kChunkAlias,  // link from another spelling of the chunk's name to its directory
  kThousand,    // value: ordinal / kThousandRecords
  kThousandAlias,
  kDamage,        // value: begin of the damaged region
  kAttribute,     // value: index into the container's attributes
  kInsideRecord,  // the record's directory in inside/; value as for kRecord
  kInsideAlias,   // link from another spelling of the name; value: ordinal
  kRecordJson,    // the decoded record; value as for kRecord
  kChunkJsonl,    // value: begin of the chunk
  kKeyFamily,     // directory of the keys of one column family; value: the family's number
  kKeyNames,      // names.tsv in the directory of a family's keys; value: the family's number

  kComputedEnd,  // the numbers of the kinds above are computed, those of the kinds below are not
  kKey = 29,     // value: key_number(), 64 bits (KnownRecords)
  kPart,         // value as for kRecord; `part`: number in Inside (KnownRecords)
  kMirrored,     // node of a mirrored directory (KnownNodes)
};
inline constexpr auto kNodeKinds = static_cast<std::uint64_t>(NodeKind::kComputedEnd);
inline constexpr int kValueBits = 59;
inline constexpr std::uint64_t kValuesOfAKind = std::uint64_t{1} << kValueBits;

// Nodes that a container has at most once. kRoot is the container's own directory.
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
  std::uint64_t part = 0;  // of kPart only
  bool operator==(const Node&) const = default;
};

// Returns the inode number of a path in a mirrored directory: a hash of the path in the mount.
std::uint64_t mirrored_inode(std::string_view path);

// Returns the number of a node in a container whose range starts at `begin`. REQUIRES: neither kPart nor kKey.
std::uint64_t number_in(std::uint64_t begin, Node node);

// Returns the inode number of a node of any container kind: number_in(), or for kPart and kKey a hash of the node,
// which is the same in every mount.
std::uint64_t inode_in(std::uint64_t begin, Node node);

// The ranges of numbers of a mount's containers. Any thread may call the const functions, once all containers are
// added.
class InodeMap {
 public:
  // Returns a map of one container, whose range starts at 0 so that its directory is the mount's root.
  static InodeMap single();

  // Returns how many bits the values of a container may have, so that add() finds a range for each of `containers`,
  // whatever their names. Services::address_bits is set to this.
  static unsigned value_bits(std::size_t containers);

  // Gives the next container a range. `name` is the name of its directory, `values` an upper bound on its values. A
  // container gets the same range in every mount, unless two ranges would overlap.
  void add(std::string_view name, std::uint64_t values);

  std::uint64_t begin(std::size_t container) const { return begins_[container]; }

  // The range that a container has if no other range overlaps it.
  struct Wanted {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
  };
  static Wanted wanted(std::string_view name, std::uint64_t values);

  // Returns all ranges as pairs of begin and end.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken() const;

  // REQUIRES: neither kPart nor kKey.
  std::uint64_t number(std::size_t container, Node node) const { return number_in(begins_[container], node); }
  std::uint64_t inode(std::size_t container, Node node) const { return inode_in(begins_[container], node); }

  struct ResolvedInode {
    std::size_t container = 0;
    Node node;
  };
  // Returns the node of a computed number, or nullopt if the number is in no range. The node need not exist.
  std::optional<ResolvedInode> find(std::uint64_t number) const;

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t container = 0;
  };
  // Moves `begin` up to the first `length` free values, and returns the range that follows them.
  std::vector<Range>::const_iterator free_range(std::uint64_t& begin, std::uint64_t length) const;

  std::vector<std::uint64_t> begins_;  // by container
  std::vector<Range> ranges_;          // sorted by begin
};

}  // namespace recordfs
