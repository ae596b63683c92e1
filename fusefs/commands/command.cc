#include "fusefs/commands/command.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/cat.h"
#include "fusefs/commands/head_tail.h"
#include "fusefs/commands/info.h"
#include "fusefs/commands/ls.h"
#include "fusefs/commands/splits.h"
#include "fusefs/exit_status.h"
#include "fusefs/say.h"

namespace recordfs {
namespace {

constexpr std::array kCommands = {
    Command{"info", "show what is known of containers", declare_info},
    Command{"ls", "list records: ordinal, size, chunk/index", declare_ls},
    Command{"cat", "write records to standard output", declare_cat},
    Command{"head", "write the first records", declare_head},
    Command{"tail", "write the last records", declare_tail},
    Command{"splits", "cut files so that several programs read them at once", declare_splits},
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
