// Messages to the user, on stderr.
#pragma once

#include <string>

namespace recordfs {

// Prints "recordfs: LINE" to stderr. Escapes unprintable characters, which names of files may contain. Thread-safe.
void print_message(const std::string& line);

}  // namespace recordfs
