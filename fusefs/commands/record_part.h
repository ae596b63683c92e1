// A part of a record, by the path that it has in inside/ of a mount.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/container.h"

namespace recordfs {

// Returns the bytes of a part, as its file in inside/ORDINAL/ has them; nullopt if the record has no such part, or if
// it is a directory. `path` is names joined by slashes; a name may contain slashes itself: "image/encoded". Fails as
// RecordSchema::value for a record that must have parts, and with kLimit if it is too large for them. Thread-safe.
Result<std::optional<std::string>> part_of_record(const RecordSchema& schema, Bytes record, std::string_view path);

}  // namespace recordfs
