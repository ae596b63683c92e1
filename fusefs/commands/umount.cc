#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/command.h"
#include "fusefs/glue/mount_table.h"
#include "fusefs/glue/unmounting.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct UmountOptions {
  std::vector<std::string> words;
  bool detaches = false;
};

// Returns why a word means no mount, or several.
std::string refusal_of(const std::string& word, const std::vector<ListedMount>& meant) {
  if (meant.empty()) {
    const std::string type = type_of_mount(path_without_access(word));
    if (type.empty()) return "not mounted (recordfs mounts lists what is)";
    return fmt::format("a mount of type {}, not of recordfs (try: umount)", type);
  }
  std::set<std::string> points;
  for (const ListedMount& mount : meant) points.insert(mount.mountpoint);
  return fmt::format("mounted at {} (name one of them)", fmt::join(points, " and "));
}

bool umount_one(const std::string& word, bool detaches) {
  const auto meant = mounts_meant_by(word);
  if (meant.size() != 1) {
    print_message(fmt::format("{}: {}", word, refusal_of(word, meant)));
    return false;
  }
  const ListedMount& mount = meant.front();
  if (!unmount(mount.mountpoint, detaches ? Unmounting::kAtOnce : Unmounting::kIfUnused)) {
    print_message(fmt::format("{}: cannot unmount: it is in use, or another user's{}", mount.mountpoint,
                              detaches ? "" : " (try: --lazy)"));
    return false;
  }
  // The daemon removes a directory that it made. A detached mount that is in use lives on.
  constexpr int kSeconds = 10;
  if (mount.pid && !detaches) wait_for_end(*mount.pid, kSeconds);
  return true;
}

int umount(const UmountOptions& options) {
  bool all = true;
  for (const std::string& word : options.words) all = umount_one(word, options.detaches) && all;
  return all ? kExitGood : kExitCannotMount;
}

}  // namespace

RunCommand declare_umount(CLI::App& app) {
  const auto options = std::make_shared<UmountOptions>();
  app.add_option("MOUNTPOINT", options->words, "mount points, or sources that are mounted once")
      ->required()
      ->type_name("");
  app.add_flag("-l,--lazy", options->detaches,
               "detach a mount that is in use\n"
               "Its name is free at once. Programs that have files of it open can still read them, and the daemon ends "
               "after the last one.");
  app.footer(
      "Waits until the daemon has ended, and has removed the mount point if it made that.\n"
      "Exit status: 3 if something could not be unmounted.");
  return [options] { return umount(*options); };
}

}  // namespace recordfs
