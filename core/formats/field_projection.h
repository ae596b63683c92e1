// A set of fields of protobuf messages, for readers that need no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace recordfs {

// Fields by their numbers, as paths from the type of the records on. A field includes all fields in it. Fields of a
// group are fields in it. Copyable; const functions are thread-safe.
class FieldProjection {
 public:
  // A message of the path, or a field.
  using Place = std::uint32_t;
  static constexpr Place kRecord = 0;
  static constexpr Place kWhole = UINT32_MAX;         // everything in it is included
  static constexpr Place kExcluded = UINT32_MAX - 1;  // nothing in it is included

  // Adds the field at a path of field numbers; an empty path is the whole record.
  void add(std::span<const std::uint32_t> path);

  // Returns whether the whole record is included, so that nothing can be left out.
  bool includes_all() const { return places_.front() == kWhole; }
  // Returns the place of a field in the message at `parent`: kWhole, kExcluded, or a place with included fields.
  Place field(Place parent, std::uint32_t number) const;

 private:
  using Key = std::pair<Place, std::uint32_t>;

  std::map<Key, Place> fields_;
  std::vector<Place> places_{kRecord};  // each itself, or kWhole
};

}  // namespace recordfs
