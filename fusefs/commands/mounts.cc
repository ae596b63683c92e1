#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/glue/mount_table.h"

namespace recordfs {
namespace {

struct MountsOptions {
  bool json = false;
};

// Returns a time in its two largest units: "3d 4h", "12s".
std::string in_words(std::uint64_t seconds) {
  struct Unit {
    std::uint64_t seconds;
    char letter;
  };
  constexpr std::array kUnits = {Unit{86400, 'd'}, Unit{3600, 'h'}, Unit{60, 'm'}, Unit{1, 's'}};
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    const Unit unit = kUnits[i];
    if (seconds < unit.seconds) continue;
    const Unit next = kUnits[i + 1];
    return fmt::format("{}{} {}{}", seconds / unit.seconds, unit.letter, seconds % unit.seconds / next.seconds,
                       next.letter);
  }
  return fmt::format("{}s", seconds);
}

std::string row_of(const ListedMount& mount, std::size_t source_width, std::size_t point_width) {
  const std::string pid = mount.pid ? fmt::format("{}", *mount.pid) : "-";
  const std::string uptime = mount.seconds ? in_words(*mount.seconds) : "-";
  const std::string source = printable(mount.source);
  const std::string point = printable(mount.mountpoint);
  if (source_width == 0) return fmt::format("{}\t{}\t{}\t{}\n", source, point, pid, uptime);
  return fmt::format("{:<{}}  {:<{}}  {:>7}  {}\n", source, source_width, point, point_width, pid, uptime);
}

std::string json_of(const ListedMount& mount) {
  JsonObject json;
  json.set("source", JsonPath{mount.source});
  json.set("mountpoint", JsonPath{mount.mountpoint});
  json.set("pid", mount.pid ? std::optional(static_cast<std::uint64_t>(*mount.pid)) : std::nullopt);
  json.set("uptime", mount.seconds);
  return to_json(json, JsonLayout::kLine);
}

int mounts(const MountsOptions& options) {
  const auto listed = list_mounts();
  std::size_t source_width = 0;
  std::size_t point_width = 0;
  if (::isatty(STDOUT_FILENO) == 1) {
    for (const ListedMount& mount : listed) {
      source_width = std::max(source_width, printable(mount.source).size());
      point_width = std::max(point_width, printable(mount.mountpoint).size());
    }
  }
  Output output;
  for (const ListedMount& mount : listed) {
    output.write(options.json ? json_of(mount) : row_of(mount, source_width, point_width));
  }
  return output.finish();
}

}  // namespace

RunCommand declare_mounts(CLI::App& app) {
  const auto options = std::make_shared<MountsOptions>();
  app.add_flag("--json", options->json,
               "print one JSON object per mount\n"
               "It has `source`, `mountpoint`, `pid`, and `uptime` in seconds.");
  app.footer(
      "Prints one line per mount: source, mount point, process id of the daemon, and how long it has been running. "
      "Fields are separated by tabs if the output is not a terminal. - instead of the process id means that the daemon "
      "has ended, or that another user runs it.");
  return [options] { return mounts(*options); };
}

}  // namespace recordfs
