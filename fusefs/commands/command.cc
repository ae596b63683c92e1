#include "fusefs/commands/command.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/cat.h"
#include "fusefs/exit_status.h"
#include "fusefs/say.h"

namespace recordfs {
namespace {

constexpr std::array kCommands = {
    Command{"cat", "write records to standard output", declare_cat},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : &*found;
}

int run_command(const Command& command, int argc, const char* const* argv) {
  CLI::App app{std::string(command.summary), fmt::format("recordfs {}", command.name)};
  const auto run = command.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stopped) {
    if (stopped.get_exit_code() == 0) return app.exit(stopped);
    say(fmt::format("{} (try recordfs {} --help)", stopped.what(), command.name));
    return kExitWrongUse;
  }
  return run();
}

}  // namespace recordfs
