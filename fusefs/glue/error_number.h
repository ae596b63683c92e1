// The one place where the core's failures become errno values.
#pragma once

#include "core/base/result.h"

namespace recordfs {

// A positive errno value for what a caller of the mount is told.
int error_number(const Error& error);

}  // namespace recordfs
