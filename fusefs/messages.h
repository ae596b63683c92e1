// Messages to the user, on stderr, and errors of the system.
#pragma once

#include <string>

#include "core/base/result.h"

namespace recordfs {

// Prints "recordfs: LINE" to stderr. Escapes unprintable characters, which names of files may contain. Thread-safe.
void print_message(const std::string& line);

// Returns the error for an errno value: kIo, described as strerror(3) does.
Error system_error(int number);

}  // namespace recordfs
