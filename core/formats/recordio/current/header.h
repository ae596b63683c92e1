// The header chunk: key-value pairs that the writer stored about the file. FORMAT.md, "Header".
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
  std::optional<Error> unshown;           // set if the attributes were too many or too large to keep
  std::vector<std::string> transformers;  // as written: name, blank, configuration; in the order of application
  bool names_all = true;                  // false: a "transformer" is not a string or too long, or there are too many
  bool declares_trailer = false;
  std::optional<Error> problem;  // what follows it was not parsed
};

// Parses the content of a header chunk: a table with one item, and its pairs. Keeps the pairs before a problem. Any
// thread.
Header parse_header(const RequestContext& context, Bytes content, const Limits& limits);

// Returns the item of a header chunk with these attributes, of which each has a type and a text as parse_header() gives
// it. Fails with kUnsupported if one has not. Any thread.
Result<std::string> header_item(const std::vector<Attribute>& attributes);

}  // namespace recordfs::recordio
