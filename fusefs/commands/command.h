// Command: something that recordfs does without a mount. command.cc lists all commands.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "fusefs/exit_status.h"
#include "fusefs/help.h"
#include "fusefs/option_text.h"

namespace CLI {
class App;
}

namespace recordfs {

struct Command {
  std::string_view name;
  std::string_view summary;  // a line of `recordfs --help`
  // Declares arguments and options on `app`. Returns the function that runs the command after parsing, and that returns
  // the exit status.
  std::function<int()> (*declare)(CLI::App& app);
  int wrong_use = kExitWrongUse;  // status for usage errors
};

// Returns all commands, in the order of the help.
std::span<const Command> commands();

// Returns the lines of `recordfs --help`: of `mount` and all commands.
std::vector<HelpLine> command_lines();

// Returns the options of a command, in the order of its help.
std::vector<OptionText> options_of(const Command& command);

// Returns the command of that name, or null.
const Command* find_command(std::string_view name);

// Parses a command line that starts with the command's name, and runs the command. Returns the exit status. Reports
// usage errors to stderr.
int run_command(const Command& command, int argc, const char* const* argv);

}  // namespace recordfs
