// The records inside which the kernel knows something. What a number of a part means can't be computed: the place of a
// record and a part's number in it do not fit into 64 bits. So this is the one table of the tree; it has a row for each
// record of which the kernel knows a part, and the kernel says when it has forgotten them (FORGET).
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
  static bool is_part(std::uint64_t number) { return number >> kValueBits == static_cast<unsigned>(NodeKind::kPart); }

  // The number of a part of one of a container's records, looked up once more. The number of a part is the same as long
  // as any lookup inside its record is not taken back. REQUIRES: part.kind is kPart.
  std::uint64_t look_up(std::size_t container, Node part);

  // What a number means; nullopt: it is none that was given out.
  std::optional<Numbering::Found> find(std::uint64_t number) const;

  // Takes `lookups` of a number back. Nothing for a number that was not given out.
  void forget(std::uint64_t number, std::uint64_t lookups);

  std::size_t rows() const;

 private:
  struct Record {
    std::size_t container = 0;
    std::uint64_t address = 0;
    auto operator<=>(const Record&) const = default;
  };
  struct Row {
    Record record;
    std::uint64_t lookups = 0;  // of all its parts
  };
  using Rows = std::map<std::uint64_t, Row>;

  Rows::iterator new_row(const Record& record);

  mutable std::mutex mutex_;
  Rows rows_;
  std::map<Record, Rows::iterator> by_record_;
  std::uint64_t next_ = 0;
};

}  // namespace recordfs
