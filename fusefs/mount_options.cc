#include "fusefs/options.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/base/similar_names.h"

namespace recordfs {
namespace {

// Options of mount(8) and fstab(5) that have no effect here.
constexpr std::string_view kAccepted =
    " ro rw defaults auto noauto user nouser users owner group suid nosuid dev nodev exec noexec sync async atime "
    "noatime relatime norelatime dirsync diratime nodiratime mand nomand strictatime lazytime nofail nolazytime "
    "nosymfollow symfollow iversion noiversion silent loud _netdev _rnetdev comment nostrictatime uhelper helper "
    "subtype default_permissions ";

constexpr unsigned kNobody = 0xFFFFFFFFu;  // means "unchanged" to chown(2)
constexpr mode_t kPermissionBits = 0777;
constexpr std::size_t kLongestSuffix = 32;
constexpr unsigned kLongestTimeout = 100u * 365 * 24 * 3600;

bool is_accepted(std::string_view name) {
  if (name.starts_with("x-") || name.starts_with("X-")) return true;
  return name.find(' ') == std::string_view::npos &&
         kAccepted.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

// --- the options

struct MountOption {
  std::string_view heading;
  std::string_view name;
  std::string_view value;
  std::string_view text;                                    // empty: not documented
  bool (*set)(const std::string& value, Options& options);  // false: invalid value
};

template <auto kField>
bool set_flag(const std::string& /*value*/, Options& options) {
  return options.*kField = true;
}

template <auto kField>
bool set_text(const std::string& value, Options& options) {
  options.*kField = value;
  return !value.empty();
}

template <auto kField, unsigned kMost, int kBase = 10, unsigned kLeast = 0>
bool set_number(const std::string& value, Options& options) {
  const auto number = parse_number<unsigned>(value, kBase);
  if (number) options.*kField = *number;
  return number && *number >= kLeast && *number <= kMost;
}

bool set_cache_size(const std::string& value, Options& options) {
  const auto size = parse_size(value);
  if (size) options.cache_size = *size;
  return size.has_value();
}

bool set_remote_timeout(const std::string& value, Options& options) {
  const auto seconds = parse_number<unsigned>(value);
  if (seconds) options.remote.timeout = std::chrono::seconds(*seconds);
  return seconds && *seconds > 0 && *seconds <= kLongestTimeout;
}

bool set_remote_scan(const std::string& value, Options& options) {
  const auto most = parse_remote_scan(value);
  if (most) options.remote_scan = *most;
  return most.has_value();
}

bool set_no_sign_request(const std::string& /*value*/, Options& options) {
  options.remote.sign = false;
  return true;
}

bool set_no_disk_cache(const std::string& /*value*/, Options& options) {
  options.remote.uses_disk = false;
  return true;
}

bool set_disk_cache_size(const std::string& value, Options& options) {
  const auto size = parse_size(value);
  if (size) options.remote.disk_bytes = *size;
  return size.has_value() && *size > 0;
}

bool set_max_chunk(const std::string& value, Options& options) {
  const auto size = parse_size(value);
  if (size) options.limits = limits_for_chunks_of(*size);
  return size.has_value() && *size > 0;
}

// Names without the suffix are numbers, so a leading digit would change the number.
bool set_record_suffix(const std::string& value, Options& options) {
  options.record_suffix = value;
  const bool is_name = !value.empty() && value.size() <= kLongestSuffix && value.find('/') == std::string::npos;
  return is_name && (value.front() < '0' || value.front() > '9');
}

bool set_wal_directory(const std::string& value, Options& options) {
  options.wal_directory = std::filesystem::absolute(value).string();
  return !value.empty();
}

bool add_table_directory(const std::string& value, Options& options) {
  options.table_directories.push_back(std::filesystem::absolute(value).string());
  return !value.empty();
}

bool set_fsname(const std::string& value, Options& options) {
  if (!value.empty()) options.fsname = value;
  return true;
}

bool set_sandbox(const std::string& value, Options& options) {
  options.sandbox = value == "yes";
  return value == "yes" || value == "no";
}

bool set_debug(const std::string& /*value*/, Options& options) { return options.debug = options.foreground = true; }

bool set_allow_root(const std::string& /*value*/, Options& options) {
  options.passed_on.emplace_back("allow_root");
  return options.allow_root = true;
}

bool set_auto_unmount(const std::string& /*value*/, Options& options) {
  options.passed_on.emplace_back("auto_unmount");
  return options.auto_unmount = true;
}

bool set_context(const std::string& value, Options& options) {
  options.passed_on.push_back("context=" + value);
  return true;
}

constexpr MountOption kOptions[] = {
    {"Mount options (-o), access", "allow_other", "",
     "let other users read the mount, as far as the source's permissions allow\n"
     "Unless root mounts, this needs `user_allow_other` in `/etc/fuse.conf`.",
     set_flag<&Options::allow_other>},
    {"", "allow_root", "", "let root read the mount too, but no other user", set_allow_root},
    {"", "uid", "N", "owner of all files, instead of the source's", set_number<&Options::uid, kNobody - 1>},
    {"", "gid", "N", "group of all files, instead of the source's", set_number<&Options::gid, kNobody - 1>},
    {"", "umask", "OCTAL", "permission mask for all files, instead of the source's read bits",
     set_number<&Options::umask, kPermissionBits, 8>},

    {"content", "nest", "", "show a directory for the container, even if it is the only source",
     set_flag<&Options::nest>},
    {"", "join", "",
     "show all sources as one data set: records/ has the records of all of them, and shards/ links to each\n"
     "The sources are files, directories, patterns of glob(7), or names such as `train@128.EXT`, which means "
     "`train-00000-of-00128.EXT` and so on. Missing files of such a set are reported. A shard is opened when it is "
     "needed, and must then be as it was when it was mounted.",
     set_flag<&Options::join>},
    {"", "manifest", "",
     "the source is a text file that lists the files of a data set, one per line (implies join)\n"
     "Paths are relative to the directory of the text file. Empty lines and lines that begin with `#` are skipped. "
     "It is read once, so what is added to it later needs a new mount, and `follow` is refused.",
     set_flag<&Options::manifest>},
    {"", "follow", "",
     "show records that are appended, and with join new files; an unfinished end is not damage\n"
     "For example, `tail -f streams/lines` in the mount prints them. Without this option a mounted file stays as it "
     "was when it was mounted. Mirrored directories do not need it: each path into a container shows the file as it is "
     "now. With `join`, files that appear in a directory of the data set, or match its pattern, become shards at its "
     "end once they have not changed for two seconds.",
     set_flag<&Options::follow>},
    {"", "descriptors", "FILE",
     "protobuf types of the records, written by protoc --descriptor_set_out\n"
     "FILE is a serialized FileDescriptorSet, and contains imported files if they were written with "
     "`--include_imports`. It precedes descriptors in the container. Messages inside a record are decoded "
     "by the types that the record names.",
     set_text<&Options::descriptors>},
    {"", "type", "NAME",
     "full name of every record's message type; optional if FILE has only one\n"
     "The type is in the FILE of `descriptors` or in the mounted file. Types that are nested in another do not count. "
     "Records that name the types of the messages in them need none.",
     set_text<&Options::type>},
    {"", "record_suffix", "S", "suffix of record files, as in record_suffix=.pb (default: none)", set_record_suffix},
    {"", "wal_dir", "DIR",
     "the directory of a database's write-ahead logs (RocksDB's wal_dir)\n"
     "Without it, the logs are in the database's directory or in the one that its OPTIONS file names.",
     set_wal_directory},
    {"", "db_path", "DIR",
     "a further directory with tables and blob files of a database (RocksDB's db_paths)\n"
     "May be given several times. A file in the database's directory has priority.",
     add_table_directory},
    {"", "xattr", "",
     "expose extended attributes: user.recordfs.ordinal, .offset, .chunk, ..., and user.mime_type\n"
     "The others are `.index`, `.codec` and `.checksum`, and `.shard` in a data set. `ls -l` reads them for each file, "
     "which makes it slower.",
     set_flag<&Options::xattr>},
    {"", "nonempty", "", "mount over a directory that is not empty", set_flag<&Options::nonempty>},
    {"", "fsname", "NAME", "source that mount(8) shows in its first column (default: the source's absolute path)",
     set_fsname},

    {"time and memory", "cache_size", "SIZE", "size of the cache of decoded chunks (default 64M)", set_cache_size},
    {"", "max_chunk", "SIZE",
     "largest chunk that is read, as stored and decoded (default 256M stored, 1G decoded)\n"
     "Larger chunks are reported as damage. So are chunks of more than 16777216 records, and metadata beyond 64M. A "
     "value above 1G raises both limits in proportion.",
     set_max_chunk},
    {"", "threads", "N", "number of threads that answer requests (default 8); two more do slow work",
     set_number<&Options::threads, kMostThreads, 10, 1>},
    {"", "max_read", "N", "maximum number of bytes per read request of the kernel (default: no limit)",
     set_number<&Options::max_read, UINT_MAX>},
    {"", "index", "WHERE",
     "where scans are saved for later mounts: auto (default: ~/.cache/recordfs), no, or a directory\n"
     "`auto` is `$XDG_CACHE_HOME/recordfs` if that variable is set. `no` saves nothing and uses no saved index. A "
     "directory must belong to the user alone. FILE.rfsindex is an index that `recordfs index -o` has written, which "
     "is used besides. An index `URL.rfsindex` beside a remote file is found by itself, unless nothing is saved.",
     set_text<&Options::index>},

    {"files on servers", "timeout_remote", "SECONDS",
     "the longest that a request to a server takes, with all its retries (default 60)\n"
     "A read that needs longer fails, and the mount stays in place.",
     set_remote_timeout},
    {"", "remote_scan", "WHEN",
     "scans of remote files: auto, never, or the most bytes that one requests (default 100M)\n"
     "Some formats say only in the header of a record where the next one is. To list their records or to find one far "
     "from the beginning, all headers before it are read, and with small records that is the whole file. Such a "
     "listing fails with EFBIG, and a log line says so, if it would request more. `recordfs index URL` scans once and "
     "saves the result, `auto` permits all scans, and `never` permits none.",
     set_remote_scan},
    {"", "no_sign_request", "", "send no credentials, for public buckets", set_no_sign_request},
    {"", "disk_cache_size", "SIZE",
     "most of what is kept of remote files on the disk (default 2G)\n"
     "It is kept in `~/.cache/recordfs/blocks`, or in `$XDG_CACHE_HOME/recordfs/blocks` if that variable is set.",
     set_disk_cache_size},
    {"", "no_disk_cache", "", "keep nothing of remote files on the disk", set_no_disk_cache},

    {"unmounting, privileges, and the log", "timeout", "SECONDS",
     "unmount after SECONDS of inactivity, once no file is open (default 0: never)",
     set_number<&Options::timeout, kLongestTimeout>},
    {"", "auto_unmount", "",
     "let fusermount3 unmount if the program is killed; users other than root also need allow_root\n"
     "A process of recordfs unmounts even without this option.",
     set_auto_unmount},
    {"", "sandbox", "no",
     "keep privileges that the mount does not need (default yes: access only to sources and saved indexes)\n"
     "With `yes`, the daemon can open only the sources and the saved indexes before it reads any of them. It can "
     "start no program, and open no connection, as far as the kernel supports Landlock and seccomp. It has no "
     "capabilities. Only root keeps one if a source is a directory: to read files of other users.",
     set_sandbox},
    {"", "log", "FILE",
     "append messages to FILE, with time stamps, instead of the system log or stderr\n"
     "Each line has the time, the process id, and the level. The first lines name the sources and the mount point, "
     "and the last one says why the mount ended. The file is created with access for its owner only, and a relative "
     "name starts at the current directory. Messages go to standard error until the mount is in place. SIGHUP opens "
     "the file again, for logrotate(8). It must not be a symbolic link, belong to another user, or have several names.",
     set_text<&Options::log_file>},
    {"", "metrics", "FILE",
     "write metrics for Prometheus to FILE every 5 seconds, and remove it at the end\n"
     "They have requests by kind, cache hits, bytes read and decoded, damage, read errors, missing shards, the number "
     "of scanned files, the version, memory, and uptime. Each has the mount point as the label `mount`, or with "
     "`redact` FILE instead. The format is that of node_exporter's textfile "
     "collector, which reads files that end with `.prom` in its directory. FILE is replaced as a whole, by a "
     "process that reads no source. The user that mounts must be able to create files in its directory. Each mount "
     "needs its own FILE.",
     set_text<&Options::metrics_file>},
    {"", "redact", "", "keep names of sources, and keys from files, out of the log", set_flag<&Options::redact>},
    {"", "debug", "", "same as -d", set_debug},
    {"", "context", "CONTEXT", "", set_context},
};

// --- the list

// Splits at commas that are not escaped, and removes the backslashes.
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

// Returns the message for an item that is no option, or that should have a value or none.
std::string unknown_option(const std::string& name) {
  const auto* const known = std::ranges::find(kOptions, name, &MountOption::name);
  if (known != std::end(kOptions)) {
    return known->value.empty() ? fmt::format("-o {} takes no value", name)
                                : fmt::format("-o {} requires a value: {}={}", name, name, known->value);
  }
  std::vector<std::string_view> names;
  for (const MountOption& option : kOptions) {
    if (!option.text.empty()) names.push_back(option.name);
  }
  const std::string similar = similar_names(name, names);
  return fmt::format("unknown option -o {}{}", name,
                     similar.empty() ? "" : fmt::format(" (did you mean {}?)", similar));
}

// Returns the error in one option, or nothing.
std::optional<std::string> apply_item(const std::string& item, Options& options) {
  const std::size_t equals = item.find('=');
  const bool has_value = equals != std::string::npos;
  const std::string name = item.substr(0, equals);
  const auto option = std::ranges::find(kOptions, name, &MountOption::name);
  if (option != std::end(kOptions) && has_value != option->value.empty()) {
    if (option->set(has_value ? item.substr(equals + 1) : "", options)) return std::nullopt;
    return fmt::format("invalid value for -o {}", item);
  }
  if (is_accepted(name) || options.sloppy) return std::nullopt;
  return unknown_option(name);
}

}  // namespace

std::vector<OptionText> mount_options() {
  std::vector<OptionText> texts;
  for (const MountOption& option : kOptions) {
    if (option.text.empty()) continue;
    texts.push_back({.names = {std::string(option.name)},
                     .value = std::string(option.value),
                     .text = std::string(option.text),
                     .heading = std::string(option.heading)});
  }
  return texts;
}

std::optional<std::string> apply_mount_options(const std::string& list, Options& options) {
  for (const std::string& item : split_list(list)) {
    if (auto wrong = apply_item(item, options)) return wrong;
  }
  return std::nullopt;
}

}  // namespace recordfs
