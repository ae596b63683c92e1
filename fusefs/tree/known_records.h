// KnownRecords: the numbers of keys and of parts of records. These cannot be computed: a record's address and a part's
// number do not fit into 59 bits, nor does a key's number. So a table has a row for each key, and for each record with
// a part, that the kernel has references to. FORGET removes rows.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "fusefs/tree/node.h"

namespace recordfs {

// Thread-safe. Numbers are those of the mount.
class KnownRecords {
 public:
  static bool has(NodeKind kind) { return kind == NodeKind::kPart || kind == NodeKind::kKey; }
  // Returns whether the kind in a number is kPart or kKey.
  static bool is_known(std::uint64_t number) { return has(static_cast<NodeKind>(number >> kValueBits)); }

  // Returns the number of a part or a key, and adds a reference. A part keeps its number as long as any part of its
  // record has references. REQUIRES: has(node.kind).
  std::uint64_t look_up_and_reference(std::size_t container, Node node);

  // Returns the node of a number, or nullopt if its record or key has no references. Does not check that the record has
  // such a part.
  std::optional<InodeMap::ResolvedInode> find(std::uint64_t number) const;

  // Removes references of a number. Ignores unknown numbers.
  void forget(std::uint64_t number, std::uint64_t lookups);

  std::size_t rows() const;

 private:
  struct Record {
    std::size_t container = 0;
    NodeKind kind = NodeKind::kPart;
    std::uint64_t value = 0;  // address of the record, or number of the key
    auto operator<=>(const Record&) const = default;
  };
  struct Row {
    Record record;
    std::uint64_t lookups = 0;  // references to the key, or to all parts of the record
  };
  using Rows = std::map<std::uint64_t, Row>;

  using ByRecord = std::map<Record, Rows::iterator>;

  Rows::iterator new_row(const Record& record);
  ByRecord::iterator add(const Record& record);

  mutable std::mutex mutex_;
  Rows rows_;
  ByRecord by_record_;
  std::uint64_t next_ = 0;
};

}  // namespace recordfs
