// Node numbers and inode numbers of the mount. A node is a file, directory or link. The kernel names it by its number,
// and `stat` shows its inode number.
//
// A number is a kind in the upper five bits and a value in the other 59. It is computed from the node, so the mount
// keeps no state per record, and a path has the same number in every mount. Parts and keys do not fit: a record's
// address and a part's number exceed 59 bits, and so does a key's number. These numbers are counted: InodeTable has a
// row for each key, and for each record with a part, that the kernel has references to. Mirrored files have their own
// table (KnownNodes). Inode numbers never depend on a table.
//
// With several containers, each has its own range of values, which starts at a hash of its name. Numbers increase with
// a record's position, because programs that walk large directories sort by inode number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string_view>

#include "core/base/bytes.h"
#include "fusefs/tree/node_types.h"

namespace recordfs {

inline constexpr auto kNodeKinds = static_cast<std::uint64_t>(NodeKind::kComputedEnd);
inline constexpr int kValueBits = 59;
inline constexpr std::uint64_t kValuesOfAKind = std::uint64_t{1} << kValueBits;

// The number of the mount's root, and its inode number.
inline constexpr std::uint64_t kMountRoot = 1;

// Returns the inode number of a path in a mirrored directory: a hash of the path in the mount.
std::uint64_t mirrored_inode(std::string_view path);

// Returns the number of a node in a container whose range starts at `begin`. REQUIRES: !is_counted(node.kind).
std::uint64_t number_in(std::uint64_t begin, Node node);

// Returns the inode number of a node of any container kind: number_in(), or for counted ones a hash of the node, which
// is the same in every mount.
std::uint64_t inode_in(std::uint64_t begin, Node node);

// Thread-safe.
class InodeTable {
 public:
  // Returns how many bits the values of a container may have, so that add() finds a range for each of `containers`,
  // whatever their names. Services::address_bits is set to this.
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

  // Removes references of a counted number. Ignores all others.
  void forget(std::uint64_t number, std::uint64_t lookups);

  // Returns how many keys, and records with a part, have references.
  std::size_t rows() const;

 private:
  struct OwnedRange {
    std::uint64_t end = 0;
    std::uint64_t container = 0;
  };
  // A key, or a record with parts.
  struct Counted {
    std::uint64_t container = 0;
    NodeKind kind = NodeKind::kPart;
    std::uint64_t value = 0;
    auto operator<=>(const Counted&) const = default;
  };
  struct Row {
    Counted counted;
    std::uint64_t lookups = 0;  // references to the key, or to all parts of the record
  };
  using Rows = std::map<std::uint64_t, Row>;

  std::optional<std::uint64_t> first_free(std::uint64_t from, std::uint64_t length) const;
  Rows::const_iterator row(std::uint64_t number) const;  // end() if there is none

  mutable std::shared_mutex mutex_;                // guards the following
  std::map<std::uint64_t, OwnedRange> ranges_;     // by begin
  std::map<std::uint64_t, std::uint64_t> begins_;  // by container
  Rows rows_;
  std::map<Counted, std::uint64_t> row_numbers_;
  std::uint64_t next_row_ = 0;
};

}  // namespace recordfs
