// The records inside which the kernel knows something, and the keys that it knows. What a number of a part means can't
// be computed: the place of a record and a part's number in it do not fit into 64 bits, and a key's number alone has as
// many. So this is the one table of the tree; it has a row for each record of which the kernel knows a part, and for
// each key, and the kernel says when it has forgotten them (FORGET).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "fusefs/tree/node.h"

namespace recordfs {

// Any thread. Numbers are those of the mount.
class KnownRecords {
 public:
  static bool has(NodeKind kind) { return kind == NodeKind::kPart || kind == NodeKind::kKey; }
  // Whether a number may be one of its own.
  static bool is_known(std::uint64_t number) { return has(static_cast<NodeKind>(number >> kValueBits)); }

  // The number of a part of one of a container's records, or of a key, looked up once more. The number of a part is the
  // same as long as any lookup inside its record is not taken back. REQUIRES: has(node.kind).
  std::uint64_t look_up_and_reference(std::size_t container, Node node);

  // What a number means; nullopt: it is none that was given out.
  std::optional<InodeMap::ResolvedInode> find(std::uint64_t number) const;

  // Takes `lookups` of a number back. Nothing for a number that was not given out.
  void forget(std::uint64_t number, std::uint64_t lookups);

  std::size_t rows() const;

 private:
  struct Record {
    std::size_t container = 0;
    NodeKind kind = NodeKind::kPart;
    std::uint64_t value = 0;  // address of the record; or a key's number
    auto operator<=>(const Record&) const = default;
  };
  struct Row {
    Record record;
    std::uint64_t lookups = 0;  // of it, or all its parts
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
