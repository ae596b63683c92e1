// The parts of a record: a small tree of names over slices of the record's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/chunk.h"

namespace recordfs {

enum class PartKind : std::uint8_t {
  kDirectory,
  kSlice,  // a file: a slice of the record's bytes
  kText,   // a file: text generated from the record
};

// A directory or a file inside a record.
struct Part {
  std::string key{};                    // any bytes; converted to a file name by the rule for keys, need not be unique
  std::optional<std::size_t> parent{};  // index of its directory in the list; nullopt: top level
  PartKind kind = PartKind::kDirectory;
  Extent extent{};     // of kSlice: position in the record, which contains it completely
  std::string text{};  // of kText: the file's bytes
  std::string type{};  // of a kSlice that is a protobuf message: the type's full name; "" for anything else
};

// At most Limits::parts_per_record parts. A directory precedes its contents, which are listed in their order here.
using Parts = std::vector<Part>;

}  // namespace recordfs
