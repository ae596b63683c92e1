// The metadata of a file: verified, decoded, and split into the members of its JSON object.
#pragma once

#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// Returns the decoded bytes; empty if the file has none. Fails with kDamage, kUnsupported and kLimit, and as Source
// does.
Result<Buffer> read_metadata(const Source& source, const Survey& survey, const Limits& limits);

// Returns the whole as "metadata.json", and each member of its object. If it is not JSON, returns only "metadata".
std::vector<Attribute> attributes_of(Bytes metadata, const Limits& limits);

}  // namespace recordfs::bloscpack
