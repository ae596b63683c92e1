// Opens recordio files of the current format.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::recordio {

// Reads the header chunk, and the end of the file to look for a trailer. Fails as Source does.
Result<std::unique_ptr<Container>> open_current(const RequestContext& context, std::shared_ptr<const Source> source,
                                                const Limits& limits);

}  // namespace recordfs::recordio
