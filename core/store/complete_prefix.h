// The complete part of a container whose file is still being written.
#pragma once

#include <memory>

#include "core/base/bytes.h"
#include "core/formats/container.h"

namespace recordfs {

// Returns `container` without its unfinished tail. A scan ends there, and reports neither an incomplete chunk nor a
// region of class unfinished. Such a region is reported if anything else follows it. trailer() is not null once the
// trailer can be read. `size` is the size of the container's source.
std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size);

}  // namespace recordfs
