// Command: one thing that recordfs does without a mount. The list of commands is explicit, in command.cc.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "fusefs/exit_status.h"

namespace CLI {
class App;
}

namespace recordfs {

struct Command {
  std::string_view name;
  std::string_view summary;  // a line of `recordfs --help`
  // Declares arguments and options on `app`, and returns what runs when they have been parsed into what it holds:
  // its result is the exit status.
  std::function<int()> (*declare)(CLI::App& app);
  int wrong_use = kExitWrongUse;  // the status where the command line is wrong
};

// All of them, in the order of the help.
std::span<const Command> commands();

// The command of that name; null where there is none.
const Command* find_command(std::string_view name);

// Parses a command's own command line, whose first word is its name, and runs it. Returns the exit status: what is
// wrong with the command line is said on stderr.
int run_command(const Command& command, int argc, const char* const* argv);

}  // namespace recordfs
