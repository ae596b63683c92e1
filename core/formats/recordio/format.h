// GRAIL recordio, the current format and the legacy one. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::recordio {

extern const Format kFormat;

// Opens a file of the current format. Reads the header chunk, and the end of the file to look for a trailer. Fails as
// Source does.
Result<std::unique_ptr<Container>> open_current(const RequestContext& context, std::shared_ptr<const Source> source,
                                                const Limits& limits);

}  // namespace recordfs::recordio
