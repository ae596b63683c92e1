// What the program tells the person who started it.
#pragma once

#include <string>

namespace recordfs {

// One line on stderr: "recordfs: LINE". Names of files may hold anything, so what does not print is escaped.
// Any thread.
void print_message(const std::string& line);

}  // namespace recordfs
