// The commands: what recordfs does without a mount. Each has a .cc file of its name.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fusefs/exit_status.h"
#include "fusefs/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace recordfs {

// Runs a command after parsing, and returns the exit status.
using RunCommand = std::function<int()>;

struct Command {
  std::string_view name;
  std::string_view summary;              // a line of `recordfs --help`
  RunCommand (*declare)(CLI::App& app);  // declares arguments and options
  std::string_view examples;             // lines for its --help
  int wrong_use = kExitWrongUse;         // status for usage errors
  bool reads = true;                     // has the options of commands that read containers
};

// Puts the options that are declared next under a heading of --help.
void begin_group(CLI::App& app, const std::string& heading);

// Return the number that is the value of an option: exactly, up to `most`; or of how many things are wanted, where a
// larger one means all. Throw CLI::ValidationError, which names the option.
std::uint64_t number_of(const std::string& option, const std::string& text, std::uint64_t most = UINT64_MAX);
std::uint64_t amount_of(const std::string& option, const std::string& text);

// Declare an option with a value, which `set` takes, or which becomes `value`; one that may be given several times; and
// one whose value is a size of at least `least` bytes. `type` is the value's name in the help.
CLI::Option* declare_value(CLI::App& app, const std::string& names, const std::string& type,
                           const std::function<void(const std::string& text)>& set, const std::string& text);
CLI::Option* declare_value(CLI::App& app, const std::string& names, const std::string& type, std::string& value,
                           const std::string& text);
CLI::Option* declare_list(CLI::App& app, const std::string& names, const std::string& type,
                          std::vector<std::string>& values, const std::string& text);
CLI::Option* declare_size(CLI::App& app, const std::string& name, std::uint64_t least,
                          std::function<void(std::uint64_t size)> set, const std::string& text);

RunCommand declare_cat(CLI::App& app);
RunCommand declare_cp(CLI::App& app);
RunCommand declare_export(CLI::App& app);
RunCommand declare_get(CLI::App& app);
RunCommand declare_grep(CLI::App& app);
RunCommand declare_head(CLI::App& app);
RunCommand declare_index(CLI::App& app);
RunCommand declare_info(CLI::App& app);
RunCommand declare_keys(CLI::App& app);
RunCommand declare_ls(CLI::App& app);
RunCommand declare_mounts(CLI::App& app);
RunCommand declare_recover(CLI::App& app);
RunCommand declare_report(CLI::App& app);
RunCommand declare_splits(CLI::App& app);
RunCommand declare_tail(CLI::App& app);
RunCommand declare_umount(CLI::App& app);
RunCommand declare_verify(CLI::App& app);

// Returns all commands, in the order of the help.
std::span<const Command> commands();

// Returns the lines of `recordfs --help`: of all commands, and of those that are not in commands().
std::vector<HelpLine> command_lines();

// Returns the options of a command, in the order of its help.
std::vector<OptionText> options_of(const Command& command);

// Returns the command of that name, or null.
const Command* find_command(std::string_view name);

// Returns "no such WHAT: WORD (did you mean info?)", with the commands whose names resemble the word.
std::string no_such_command(std::string_view what, std::string_view word);

// Parses a command line that starts with the command's name, and runs the command. Returns the exit status. Reports
// usage errors to stderr.
int run_command(const Command& command, int argc, const char* const* argv);

}  // namespace recordfs
