#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/dataset/real_paths.h"
#include "fusefs/commands/command.h"
#include "fusefs/glue/mount_table.h"
#include "fusefs/glue/unmounting.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

struct UmountOptions {
  std::vector<std::string> words;
  bool detaches = false;
};

// Returns the absolute path of a directory without accessing it, because its daemon may hang or be dead.
std::string without_access(const std::string& word) {
  const fs::path name = fs::path(word).lexically_normal();
  const fs::path plain = name.has_filename() ? name : name.parent_path();
  std::error_code failed;
  const fs::path above = fs::canonical(plain.has_parent_path() ? plain.parent_path() : fs::path("."), failed);
  return failed ? plain.string() : (above / plain.filename()).string();
}

// Accesses no path that another user has chosen, which may be in a filesystem that hangs.
bool names_source(const std::string& word, const ListedMount& mount) {
  if (word == mount.source || word == fs::path(mount.source).filename()) return true;
  if (RealPaths().of(word) == mount.source) return true;
  if (mount.owner != 0 && mount.owner != ::geteuid()) return false;
  std::error_code failed;
  return fs::equivalent(word, mount.source, failed) && !failed;
}

// Returns the mounts that a word means: the one at this path, or else those of this source. Of several at one path, the
// last one is on top.
std::vector<ListedMount> meant_by(const std::string& word) {
  const auto mounts = list_mounts();
  const std::string path = without_access(word);
  const auto top = std::find_if(mounts.rbegin(), mounts.rend(), [&](const ListedMount& mount) {
    return mount.mountpoint == path || mount.mountpoint == word;
  });
  if (top != mounts.rend()) return {*top};
  std::vector<ListedMount> meant;
  std::ranges::copy_if(mounts, std::back_inserter(meant),
                       [&word](const ListedMount& mount) { return names_source(word, mount); });
  return meant;
}

// Returns why a word means no mount, or several.
std::string refusal_of(const std::string& word, const std::vector<ListedMount>& meant) {
  if (meant.empty()) {
    const std::string type = type_of_mount(without_access(word));
    if (type.empty()) return "not mounted (recordfs mounts lists what is)";
    return fmt::format("a mount of type {}, not of recordfs (try: umount)", type);
  }
  std::set<std::string> points;
  for (const ListedMount& mount : meant) points.insert(mount.mountpoint);
  return fmt::format("mounted at {} (name one of them)", fmt::join(points, " and "));
}

bool umount_one(const std::string& word, bool detaches) {
  const auto meant = meant_by(word);
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
