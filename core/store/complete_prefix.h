// What of a container is settled while its file is still being written: all but the unfinished tail.
#pragma once

#include <memory>

#include "core/base/bytes.h"
#include "core/formats/container.h"

namespace recordfs {

// The same container without what is unfinished at its end: a scan ends there, and names neither a chunk that is not
// all there nor a region of class unfinished. Such a region with anything else behind it is told as it is. A trailer is
// there once it can be read. `size`: of the container's source.
std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size);

}  // namespace recordfs
