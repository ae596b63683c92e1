// Parts of a record, by the paths that they have in inside/ of a mount.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/container.h"

namespace recordfs {

// Returns the bytes of parts, as their files in inside/ORDINAL/ have them; nullopt for each that the record does not
// have, or that is a directory. A path is names joined by slashes; a name may contain slashes itself: "image/encoded".
// Fails as RecordSchema::value for a record that must have parts, and with kLimit if it is too large for them.
// Thread-safe.
Result<std::vector<std::optional<std::string>>> parts_of_record(const RecordSchema& schema, Bytes record,
                                                                std::span<const std::string> paths);

}  // namespace recordfs
