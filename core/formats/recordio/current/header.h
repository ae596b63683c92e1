// The header chunk: what the writer said about the file, as keys and values. FORMAT.md, "Header".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/container.h"

namespace recordfs::recordio {

struct Header {
  std::vector<Attribute> attributes;
  std::optional<Error> unshown;           // the attributes were too many or too large to be kept
  std::vector<std::string> transformers;  // as written: name, blank, configuration; the first one is applied first
  bool names_all = true;                  // false: a "transformer" is no string or too long, or there are too many
  bool declares_trailer = false;
  std::optional<Error> problem;  // what is behind it was not read
};

// Reads the content of a header chunk: a table with one item, and the pairs in it. What could be read in front of a
// problem stays. Any thread.
Header parse_header(Bytes content, const Limits& limits);

}  // namespace recordfs::recordio
