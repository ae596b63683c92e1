#include "fusefs/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

constexpr std::string_view kDescription =
    "Mounts a file full of records as a directory with a file for each of them.\n"
    "  recordfs FILE mnt; ls mnt/records; cat mnt/records/42; fusermount3 -u mnt";

constexpr std::string_view kFooter = R"(Mount options (-o):
  ro                the only way there is; accepted
  allow_other       let other users in, as far as the source's permissions let them
  uid=N, gid=N      owner of all files instead of the source's owner
  umask=OCTAL       permissions instead of the source's read bits
  cache_size=SIZE   bound of the cache of decoded chunks (default 64M)
  max_chunk=SIZE    largest chunk that is read, as stored and decoded (default 256M stored, 1G decoded)
  threads=N         threads that answer requests (default 8)
  index=auto        save what the walk through a large file finds in $XDG_CACHE_HOME/recordfs, or
                    ~/.cache/recordfs, for the next mount of it (default)
  index=no          save nothing and use nothing that was saved
  index=DIRECTORY   the same as auto, in another directory, which has to be the user's alone
  follow            show what others append to the files, and take what is unfinished at their ends for no damage
  nest              a directory for the container even when there is only one
  nonempty          mount over a directory that is not empty
  fsname=NAME       what the first column of mount(8) shows (default: the source)
  max_read=N        bytes that the kernel asks for at once
  auto_unmount, allow_root are passed to libfuse; what mount(8) and fstab(5) add is accepted

Exit status: 0 good, 1 wrong use, 2 cannot open a source or it is no container, 3 cannot mount.)";

// What mount(8) and fstab(5) pass along and what changes nothing here.
constexpr std::array<std::string_view, 38> kAccepted = {
    "ro",         "rw",      "defaults", "auto",       "noauto",    "user",       "nouser",      "users",
    "owner",      "group",   "suid",     "nosuid",     "dev",       "nodev",      "exec",        "noexec",
    "sync",       "async",   "atime",    "noatime",    "relatime",  "norelatime", "strictatime", "diratime",
    "nodiratime", "dirsync", "mand",     "nomand",     "lazytime",  "nolazytime", "nofail",      "_netdev",
    "silent",     "loud",    "iversion", "noiversion", "symfollow", "nosymfollow"};
constexpr std::array<std::string_view, 2> kPassedOn = {"auto_unmount", "allow_root"};
constexpr std::array<std::string_view, 1> kPassedOnWithValue = {"context"};

constexpr unsigned kNobody = 0xFFFFFFFFu;  // what chown(2) takes for "leave it"
constexpr mode_t kPermissionBits = 0777;

template <class Number>
bool parse_number(const std::string& text, Number& number, int base = 10) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

template <class Number>
bool parse_optional(const std::string& text, std::optional<Number>& number, int base = 10) {
  Number value{};
  if (!parse_number(text, value, base)) return false;
  number = value;
  return true;
}

bool is_ignored(std::string_view name) {
  return std::ranges::find(kAccepted, name) != kAccepted.end() || name.starts_with("x-") || name == "comment" ||
         name == "subtype" || name == "default_permissions" || name.starts_with("X-");
}

// One option without a value. False: there is no such option.
bool set_flag(const std::string& name, Options& options) {
  if (name == "allow_other") {
    options.allow_other = true;
  } else if (name == "nest") {
    options.nest = true;
  } else if (name == "follow") {
    options.follow = true;
  } else if (name == "nonempty") {
    options.nonempty = true;
  } else if (name == "debug") {
    options.debug = options.foreground = true;
  } else if (std::ranges::find(kPassedOn, name) != kPassedOn.end()) {
    options.passed_on.push_back(name);
  } else {
    return is_ignored(name);
  }
  return true;
}

enum class Setting : std::uint8_t { kSet, kBadValue, kUnknown };

Setting set_value(const std::string& name, const std::string& value, Options& options) {
  const auto from = [](bool good) { return good ? Setting::kSet : Setting::kBadValue; };
  if (name == "uid") return from(parse_optional(value, options.uid) && options.uid != kNobody);
  if (name == "gid") return from(parse_optional(value, options.gid) && options.gid != kNobody);
  if (name == "umask") return from(parse_optional(value, options.umask, 8) && *options.umask <= kPermissionBits);
  if (name == "max_read") return from(parse_optional(value, options.max_read));
  if (name == "threads") {
    return from(parse_number(value, options.threads) && options.threads > 0 && options.threads <= 1024);
  }
  if (name == "index") {
    options.index = value;
    return from(!value.empty());
  }
  if (name == "fsname") {
    if (!value.empty()) options.fsname = value;
    return Setting::kSet;
  }
  if (name == "cache_size") {
    const auto size = parse_size(value);
    if (size) options.cache_size = *size;
    return from(size.has_value());
  }
  if (name == "max_chunk") {
    const auto size = parse_size(value);
    if (size) options.limits.stored_chunk = options.limits.decoded_chunk = *size;
    return from(size.has_value() && *size > 0);
  }
  if (std::ranges::find(kPassedOnWithValue, name) != kPassedOnWithValue.end()) {
    options.passed_on.push_back(name + "=" + value);
    return Setting::kSet;
  }
  return is_ignored(name) ? Setting::kSet : Setting::kUnknown;
}

// Splits at commas that no backslash stands before; the backslashes go.
std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size()) {
      items.back() += list[++i];
    } else if (list[i] == ',') {
      items.emplace_back();
    } else {
      items.back() += list[i];
    }
  }
  std::erase(items, std::string());
  return items;
}

// What is wrong with a list of -o, or nothing.
std::optional<std::string> apply_list(const std::string& list, Options& options) {
  for (const std::string& item : split_list(list)) {
    const std::size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    if (equals == std::string::npos) {
      if (!set_flag(name, options)) return fmt::format("unknown option -o {}", name);
      continue;
    }
    switch (set_value(name, item.substr(equals + 1), options)) {
      case Setting::kSet: break;
      case Setting::kBadValue: return fmt::format("-o {}: not a value that it can have", item);
      case Setting::kUnknown: return fmt::format("unknown option -o {}", name);
    }
  }
  return std::nullopt;
}

ParsedOptions wrong_use(const std::string& reason) {
  return {.status = kExitWrongUse, .output = fmt::format("recordfs: {} (try recordfs --help)\n", reason)};
}

// "FILE MNT -o ..." may come in any order; mount(8) puts the options last.
ParsedOptions finished(Options options, std::vector<std::string> places, const std::vector<std::string>& lists) {
  for (const std::string& list : lists) {
    if (auto wrong = apply_list(list, options)) return wrong_use(*wrong);
  }
  if (places.empty()) return wrong_use("no source and no mount point given");
  if (places.size() == 1) return wrong_use("no mount point given");
  options.mountpoint = places.back();
  places.pop_back();
  options.sources = std::move(places);
  return {.options = std::move(options)};
}

}  // namespace

std::optional<std::uint64_t> parse_size(const std::string& text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(parsed.ptr, static_cast<std::size_t>(text.data() + text.size() - parsed.ptr));
  if (parsed.ec != std::errc{} || unit.size() > 1) return std::nullopt;
  if (unit.empty()) return number;
  const std::size_t power =
      std::string_view("KMGT").find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
  if (power == std::string_view::npos) return std::nullopt;
  const int shift = static_cast<int>(10 * (power + 1));
  if (number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

ParsedOptions parse_options(int argc, const char* const* argv, const std::string& version) {
  Options options;
  std::vector<std::string> places;
  std::vector<std::string> lists;
  std::string ignored;
  CLI::App app{std::string(kDescription), "recordfs"};
  app.footer(std::string(kFooter));
  app.set_version_flag("-V,--version", version, "print the versions and leave");
  app.add_flag("-f,--foreground", options.foreground, "stay in the foreground and log to stderr");
  app.add_flag("-d,--debug", options.debug, "as -f, with a trace of every request");
  app.add_flag("-s,--single-threaded", options.single_threaded, "answer requests with one thread");
  app.add_option("-o", lists, "mount options, separated by commas")
      ->type_name("OPTION,...")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("-t", ignored)->group("");
  app.add_option("place", places, "one or more files, and where to mount them")->type_name("FILE... MOUNTPOINT");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stopped) {
    std::ostringstream out;
    std::ostringstream error;
    const bool good = app.exit(stopped, out, error) == 0;
    if (good) return {.status = 0, .output = out.str()};
    return wrong_use(stopped.what());
  }
  if (options.debug) options.foreground = true;
  return finished(std::move(options), std::move(places), lists);
}

}  // namespace recordfs
