#include "fusefs/help.h"

#include <fmt/format.h>

#include "fusefs/mount_options.h"

namespace recordfs {
namespace {

constexpr std::string_view kProgramUsage =
    R"(recordfs mounts a file of records as a directory with one file per record.

Usage: recordfs [OPTION]... SOURCE... MOUNTPOINT
       recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
       recordfs COMMAND [ARGUMENT]...
  recordfs data.log mnt; ls mnt/records; cat mnt/records/42; fusermount3 -u mnt
)";

constexpr std::string_view kCommandUsage =
    R"(Mounts files of records as a directory with one file per record.

Usage: recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
  recordfs mount data.log; ls data/records; cat data/records/42; fusermount3 -u data

A missing mount point is created, and removed at the end. If none is given, it is named after the first source, in the
current directory: data for data.log, or data.mnt if data is taken; its name is printed. The last of several paths is
the mount point, unless it is a file.
)";

constexpr std::string_view kMount8Usage =
    R"(Mounts a file of records, for mount(8) and fstab(5).

Usage: mount.recordfs SOURCE DIRECTORY [OPTION]... [-t TYPE]
  mount -t recordfs data.log /mnt
  in /etc/fstab: /srv/data.log /mnt recordfs noauto,user 0 0
)";

constexpr std::string_view kAfterOptions = R"(
The mount is always read-only. Other options of mount(8) and fstab(5) are accepted: nofail, _netdev, noauto, user,
x-systemd.*, ... SIGUSR1 writes statistics to the log.
)";

constexpr std::string_view kExitStatuses =
    "\nExit status: 0 success, 1 usage error, 2 a source cannot be opened or is not a container, 3 cannot mount";
constexpr std::string_view kOfCommands = ",\n4 damage found, 5 partly done; grep returns 0, 1 and 2";

std::string line_of(const std::string& name, std::string_view summary) {
  constexpr std::size_t kWidth = 16;
  const std::string column = name.size() > kWidth ? fmt::format("{}\n{:{}}", name, "", kWidth + 2) : name;
  return fmt::format("  {:<{}}  {}\n", column, kWidth, summary);
}

std::string list_of(std::span<const OptionText> options) {
  std::string list;
  for (const OptionText& option : options) {
    if (!option.heading.empty()) list += fmt::format("\n{}:\n", option.heading);
    list += line_of(option.usage(), option.help());
  }
  return list;
}

}  // namespace

std::string help_text(Form form, std::span<const HelpLine> commands) {
  const bool is_program = form == Form::kProgram;
  std::string text(is_program ? kProgramUsage : form == Form::kCommand ? kCommandUsage : kMount8Usage);
  if (is_program) {
    text += "\nCommands (recordfs COMMAND --help):\n";
    for (const HelpLine& command : commands) text += line_of(std::string(command.name), command.summary);
  }
  text += list_of(mount_flags(form)) + list_of(mount_options());
  text += kAfterOptions;
  text += kExitStatuses;
  if (is_program) text += kOfCommands;
  text += ".\n";
  return text;
}

}  // namespace recordfs
