#include "fusefs/messages.h"

#include <cstdio>
#include <cstring>

#include "core/base/utf8.h"

namespace recordfs {

void print_message(const std::string& line) { std::fputs(("recordfs: " + printable(line) + "\n").c_str(), stderr); }

Error system_error(int number) { return {.code = Code::kIo, .detail = std::strerror(number), .os_error = number}; }

}  // namespace recordfs
