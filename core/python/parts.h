// The parts of a record by name.
#pragma once

#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/store/record_reader.h"

namespace recordfs::python {

struct NamedPart {
  std::string name;  // of nested parts joined with "/"; a "/" or "%" in a name is percent-encoded
  Slice content;     // of a number or a text: the same line as in the mount
};

// Returns the parts in the order of the record. Throws std::bad_alloc.
std::vector<NamedPart> named_parts(const RecordParts& parts);

}  // namespace recordfs::python
