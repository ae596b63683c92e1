// Counts what records are made of: their parts by name and type, or the changes of keys by kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/container.h"
#include "core/formats/value.h"

namespace recordfs {

// Rows by name and type. A name is the path of the parts in inside/ORDINAL/ of a mount, such as "tags/Particle"; an
// entry is one value or message there. Memory is bounded: long names are cut, and rows beyond a limit are counted
// together. Not thread-safe.
class PartCounts {
 public:
  struct Count {
    std::uint64_t records = 0;
    std::uint64_t entries = 0;
    std::uint64_t last_record = 0;  // number of the last record that counts
    // The smallest and the largest step of scalars; nullopt: there is none.
    std::optional<std::int64_t> first_step{};
    std::optional<std::int64_t> last_step{};
  };
  struct Scalar {
    std::string tag{};
    std::optional<std::int64_t> step{};
  };
  using Row = std::pair<std::string, std::string>;  // name and type, which may be empty
  static constexpr std::size_t kMostRows = 1000;
  static constexpr std::size_t kLongestName = 1024;  // bytes, of a name or a type

  // Returns whether records of this kind have parts or keys.
  static bool has(const RecordSchema& schema) {
    return schema.change_kinds != nullptr || schema.parts != RecordSchema::Parts::kNone;
  }

  // Counts the parts of a record. Returns false if it is not a record of this kind.
  bool add(const RecordSchema& schema, Bytes record);
  // Counts the scalars of a record by their tags.
  void add(const std::vector<Scalar>& scalars);
  void add(const PartCounts& other);

  const std::map<Row, Count>& rows() const { return rows_; }
  // Returns what was counted beyond kMostRows.
  const Count& others() const { return others_; }

 private:
  void add_value(const std::string& name, const Value& value);
  Count& add_entry(const std::string& name, std::string_view type);

  std::map<Row, Count> rows_;
  Count others_;
  std::uint64_t record_ = 0;
  bool omits_tables_ = false;
};

}  // namespace recordfs
