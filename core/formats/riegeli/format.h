// The Riegeli/records format. FORMAT.md describes the files.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::riegeli {

extern const Format kFormat;

// Opens a source without checking that it is of this format. Reads at most the first three chunk headers. Fails as
// Source does.
Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits);

}  // namespace recordfs::riegeli
