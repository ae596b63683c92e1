#include "fusefs/messages.h"

#include <cstdio>

#include "core/base/utf8.h"

namespace recordfs {

void print_message(const std::string& line) { std::fputs(("recordfs: " + printable(line) + "\n").c_str(), stderr); }

}  // namespace recordfs
