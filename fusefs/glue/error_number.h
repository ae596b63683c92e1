// The only conversion of errors to errno values.
#pragma once

#include "core/base/result.h"

namespace recordfs {

// Returns the positive errno value for a reply.
int error_number(const Error& error);

}  // namespace recordfs
