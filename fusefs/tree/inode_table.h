// Node numbers and inode numbers of the mount. A node is a file, directory or link. The kernel names it by its number,
// and `stat` shows its inode number.
//
// A number is a kind in the upper five bits and a value in the other 59. It is computed from the node, so the mount
// keeps no state per record, and a path has the same number in every mount. Parts and keys do not fit: a record's
// address and a part's number exceed 59 bits, and so does a key's number. These numbers are counted: InodeTable has a
// row for each key, and for each record with a part, that the kernel has references to. So are those of nodes in
// mirrored directories, by path. Inode numbers never depend on a table.
//
// With several containers, each has its own range of values, which starts at a hash of its name. Numbers increase with
// a record's position, because programs that walk large directories sort by inode number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "fusefs/tree/mirror/rooted_dir.h"
#include "fusefs/tree/node_types.h"

namespace recordfs {

inline constexpr auto kNodeKinds = static_cast<std::uint64_t>(NodeKind::kComputedEnd);
inline constexpr int kValueBits = 59;
inline constexpr std::uint64_t kValuesOfAKind = std::uint64_t{1} << kValueBits;

// The number of the mount's root, and its inode number.
inline constexpr std::uint64_t kMountRoot = 1;

constexpr NodeKind node_kind(std::uint64_t number) { return static_cast<NodeKind>(number >> kValueBits); }

// Returns whether a number that names a node names a record.
constexpr bool is_record(std::uint64_t number) { return node_kind(number) == NodeKind::kRecord; }

// Returns the inode number of a path in a mirrored directory: a hash of the path in the mount.
std::uint64_t mirrored_inode(std::string_view path);

// Returns (kind << kValueBits) | (begin + value), the number of a node in a container whose range starts at `begin`.
// REQUIRES: !is_counted(node.kind).
std::uint64_t number_in(std::uint64_t begin, Node node);

// Returns the inode number of a node of any container kind: number_in(), or for counted ones a hash of the node, which
// is the same in every mount.
std::uint64_t inode_in(std::uint64_t begin, Node node);

enum class MirroredType : std::uint8_t {
  kDirectory,
  kFile,       // passed through
  kLink,       // passed through
  kContainer,  // a regular file that the mount shows as a directory
  kRecordfs,   // a mount of recordfs, shown as an empty directory
};

constexpr FileType shown_type(MirroredType type) {
  return type == MirroredType::kFile   ? FileType::kRegular
         : type == MirroredType::kLink ? FileType::kLink
                                       : FileType::kDirectory;
}

// A path of the source and what was there. Immutable.
struct MirroredNode {
  std::uint64_t number = 0;
  std::size_t source = 0;  // index of the mirrored directory
  std::string path;        // relative to it
  MirroredType type = MirroredType::kDirectory;
  FileState state;
  bool is_settled = false;  // any change after the lookup would show in `state`
};

// Thread-safe, except for add_own() and fix_ranges(), and add() and remove() after the latter.
//
// The number of a mirrored node means one state of a file, so that what the kernel caches for it stays true. When a
// file is replaced or written to, its path gets a new number, and the old number continues to mean the old file. Only
// directories keep their number when they change. These numbers are not reused.
class InodeTable {
 public:
  // Returns how many bits the values of a container may have, so that add() finds a range for each of `containers`,
  // whatever their names. StoreResources::address_bits is set to this.
  static unsigned value_bits(std::size_t containers);

  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
  };
  // The range of the mount's only container. It starts at 0, so that the container's directory is the mount's root.
  static constexpr Range kWhole{0, kValuesOfAKind};
  // Returns the range that a container has if no other range overlaps it. `name` is the path of its directory, `values`
  // an upper bound on its values.
  static Range wanted(std::string_view name, std::uint64_t values);

  // Returns the start of a container's range: the one it has, or a new one at `wanted` if that is free, or elsewhere.
  // Returns nullopt if no range is free.
  std::optional<std::uint64_t> add(std::uint64_t container, Range wanted);
  void remove(std::uint64_t container);
  // The nodes that are in no container: of a data set, a database, or the directory of several sources. No container,
  // shard or mirrored node has this number.
  static constexpr std::uint64_t kOwnNodes = kValuesOfAKind;
  // Gives the range from 0 on to kOwnNodes: 2^bits values, and as many after it to each of `shards`, which are the
  // containers from 0 on.
  void add_own(int bits = 12, std::size_t shards = 0);
  // Announces that the ranges do not change any more. find() then needs no lock for numbers that are not counted.
  void fix_ranges() { has_fixed_ranges_ = true; }

  // Returns the number of a part or a key, and adds a reference. A part keeps its number as long as any part of its
  // record has references. REQUIRES: is_counted(node.kind).
  std::uint64_t look_up_and_reference(std::uint64_t container, Node node);

  struct ResolvedInode {
    std::uint64_t container = 0;
    Node node;
  };
  // Returns nullopt if the number is in no container's range, or is counted and has no references. The node need not
  // exist.
  std::optional<ResolvedInode> find(std::uint64_t number) const;

  using MirroredPointer = std::shared_ptr<const MirroredNode>;
  // Adds the mirrored directory `source` itself, permanently. Returns its number: `number`, or a new one for nullopt.
  std::uint64_t add_source(std::size_t source, const FileState& state, std::optional<std::uint64_t> number);
  // Returns the mirrored node of a path and adds a reference. `now` is a time before `state` was read. Makes a node
  // with a new number if the path has none, or if the file may have changed.
  MirroredPointer look_up_and_reference(std::size_t source, const std::string& path, MirroredType type,
                                        const FileState& state, const timespec& now);
  // Returns null if the number is not that of a mirrored node, or has no references.
  MirroredPointer find_mirrored(std::uint64_t number) const;
  // Adds a reference to a mirrored container for a node inside it. The container keeps its number while it has either
  // kind.
  void reference_inside(std::uint64_t container);

  // Removes references of a counted number, of a mirrored node, or of any node inside a mirrored container. Ignores all
  // others. Returns the number of the mirrored node that has lost its last reference.
  std::optional<std::uint64_t> forget(std::uint64_t number, std::uint64_t lookups);

  // Returns how many keys, and records with a part, have references; and how many mirrored nodes.
  std::size_t rows() const;
  std::size_t mirrored_rows() const;

 private:
  struct OwnedRange {
    std::uint64_t end = 0;
    std::uint64_t container = 0;
    int bits = kValueBits;  // of the values of one container, if several containers share the range
  };
  // A key, or a record with parts.
  struct Counted {
    std::uint64_t container = 0;
    NodeKind kind = NodeKind::kPart;
    std::uint64_t value = 0;
    std::shared_ptr<const NodeKey> key{};  // as in Node
    bool operator<(const Counted& other) const { return identity() < other.identity(); }
    std::tuple<std::uint64_t, NodeKind, std::uint64_t, std::string_view> identity() const {
      return {container, kind, value, key == nullptr ? std::string_view() : std::string_view(key->text)};
    }
  };
  struct Row {
    Counted counted;
    std::uint64_t lookups = 0;  // references to the key, or to all parts of the record
  };
  using Rows = std::map<std::uint64_t, Row>;
  struct MirroredRow {
    MirroredPointer node;
    std::uint64_t lookups = 0;
    std::uint64_t inside = 0;  // references of nodes inside the container
  };
  struct SourcePath {
    std::size_t source = 0;
    std::string_view path;
    bool operator==(const SourcePath&) const = default;
  };
  struct Hash {
    std::size_t operator()(const SourcePath& at) const { return std::hash<std::string_view>{}(at.path) + at.source; }
  };

  std::optional<std::uint64_t> first_free(std::uint64_t from, std::uint64_t length) const;
  Rows::const_iterator row(std::uint64_t number) const;  // end() if there is none
  MirroredPointer add(MirroredNode node);
  std::optional<std::uint64_t> take_back(std::uint64_t number, std::uint64_t MirroredRow::*count,
                                         std::uint64_t lookups);

  bool has_fixed_ranges_ = false;
  bool has_own_ = false;
  mutable std::shared_mutex mutex_;                // guards the following
  std::map<std::uint64_t, OwnedRange> ranges_;     // by begin
  std::map<std::uint64_t, std::uint64_t> begins_;  // by container
  Rows rows_;
  std::map<Counted, std::uint64_t> row_numbers_;
  std::uint64_t next_row_ = 0;
  std::unordered_map<std::uint64_t, MirroredRow> mirrored_;
  std::unordered_map<SourcePath, MirroredPointer, Hash> newest_;  // keys point into the nodes
  std::uint64_t next_mirrored_ = static_cast<std::uint64_t>(NodeKind::kMirrored) << kValueBits;
};

}  // namespace recordfs
