// The line on the terminal that shows progress.
#pragma once

#include <string>

namespace recordfs {

// Standard error, if that is a terminal that can erase a line. One line, which the next message or output replaces. All
// functions are thread-safe.
class ProgressLine {
 public:
  // Returns whether there is such a terminal.
  static bool is_possible();
  // Shows a text in place of the line before, cut to the width of the terminal.
  static void paint(const std::string& text);
  // Erases the line. Call it before other text is written to the terminal.
  static void erase();
  // Call this before standard output is written: if that is a terminal, erases the line, and has_output() is true.
  static void make_way_for_output();
  // Returns whether the terminal shows output, after which a line would mix with it.
  static bool has_output();
};

}  // namespace recordfs
