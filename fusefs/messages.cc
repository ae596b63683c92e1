#include "fusefs/messages.h"

#include <unistd.h>

#include <cstdio>

#include "core/base/utf8.h"
#include "fusefs/progress_line.h"
#include "fusefs/terminal.h"

namespace recordfs {

void print_message(const std::string& line) {
  const std::string text = "recordfs: " + printable(line) + "\n";
  ProgressLine::erase();
  std::fputs((is_ascii_terminal(STDERR_FILENO) ? ascii_of(text) : text).c_str(), stderr);
}

}  // namespace recordfs
