// The metadata of a file: decoded, verified, and split into the members of its JSON object.
#pragma once

#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// The decoded bytes; empty where the file has none. Fails with kDamage, kUnsupported and kLimit, and as Source does.
Result<Buffer> read_metadata(const Source& source, const Survey& survey, const Limits& limits);

// The whole as "metadata.json", and each member of the object that it is; only "metadata" where it is no JSON.
std::vector<Attribute> attributes_of(Bytes metadata, const Limits& limits);

}  // namespace recordfs::bloscpack
