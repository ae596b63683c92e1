#include "fusefs/help.h"

#include <fmt/format.h>

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

Usage: mount.recordfs SOURCE DIRECTORY [-sfnv] [-N NAMESPACE] [-o OPTION,...] [-t TYPE]
  mount -t recordfs data.log /mnt
  in /etc/fstab: /srv/data.log /mnt recordfs noauto,user 0 0
  -s                ignore unknown mount options
  -f                check the options, but do not mount
  -n                ignored
  -v                log more
  -N NAMESPACE      mount in this namespace: a process id, or a file
)";

constexpr std::string_view kFlagHelp = R"(
Options:
  -f, --foreground  stay in the foreground and log to stderr; the default is the system log (see -o log=FILE)
  -d, --debug       like -f, and log every request
  -s, --single-threaded
                    answer requests with one thread
  -q, --quiet       log only errors
  -v, --verbose     also log which files were opened, how long scans took, and which indexes were used or saved
  --ready-fd N      when the mount is ready, write a newline to this descriptor and close it
  -o OPTION,...     mount options
  -h, --help        print this help
  -V, --version     print the versions of recordfs and its libraries
)";

constexpr std::string_view kMountOptions = R"(
Mount options (-o), access:
  allow_other       let other users read the mount, as far as the source's permissions allow
  allow_root        let root read the mount too, but no other user
  uid=N             owner of all files, instead of the source's
  gid=N             group of all files, instead of the source's
  umask=OCTAL       permission mask for all files, instead of the source's read bits

content:
  nest              show a directory for the container, even if it is the only source
  follow            show records that are appended, and do not report an unfinished end as damage
  descriptors=FILE  protobuf types of the records, written by protoc --descriptor_set_out
  type=NAME         full name of every record's message type; optional if FILE has only one
  record_suffix=S   suffix of record files, as in record_suffix=.pb (default: none)
  listed_keys=N     maximum number of keys that keys/ lists, at 100 to 200 bytes of memory each (default 1000000);
                    all others can be opened by name
  xattr             expose extended attributes: user.recordfs.ordinal, .offset, .chunk, ..., and user.mime_type
  nonempty          mount over a directory that is not empty
  fsname=NAME       source that mount(8) shows (default: the source's path)

time and memory:
  cache_size=SIZE   size of the cache of decoded chunks (default 64M)
  max_chunk=SIZE    largest chunk that is read, stored and decoded (default 256M stored, 1G decoded)
  threads=N         number of threads that answer requests (default 8); two more do slow work
  max_read=N        maximum number of bytes per read request of the kernel
  index=auto        save the result of a scan in $XDG_CACHE_HOME/recordfs, or ~/.cache/recordfs, for the next mount
                    (default)
  index=no          do not save or use indexes
  index=DIRECTORY   like auto, in another directory, which must belong to the user alone

unmounting, privileges, and the log:
  timeout=SECONDS   unmount after SECONDS of inactivity, once no file is open (default 0: never)
  auto_unmount      let fusermount3 unmount if the program is killed; users other than root also need allow_root
                    (recordfs unmounts even without this option)
  sandbox=no        keep privileges that the mount does not need (default yes: access to the sources and saved indexes
                    only, no programs, no connections, no capabilities except root's to read a directory)
  log=FILE          append messages to FILE, with time stamps, instead of the system log or stderr
  redact            keep names of sources, and keys from files, out of the log
  debug             same as -d

The mount is always read-only. Other options of mount(8) and fstab(5) are accepted: nofail, _netdev, noauto, user,
x-systemd.*, ... SIGUSR1 writes statistics to the log.
)";

constexpr std::string_view kExitStatuses =
    "\nExit status: 0 success, 1 usage error, 2 a source cannot be opened or is not a container, 3 cannot mount";
constexpr std::string_view kOfCommands = ",\n4 damage found, 5 partly done; grep returns 0, 1 and 2";

std::string list_of(std::span<const HelpLine> commands) {
  std::string list = "\nCommands (recordfs COMMAND --help):\n";
  for (const HelpLine& command : commands) list += fmt::format("  {:<16}  {}\n", command.name, command.summary);
  return list;
}

}  // namespace

std::string help_text(Form form, std::span<const HelpLine> commands) {
  const bool is_program = form == Form::kProgram;
  std::string text(is_program ? kProgramUsage : form == Form::kCommand ? kCommandUsage : kMount8Usage);
  if (is_program) text += list_of(commands);
  if (form != Form::kMount8) text += kFlagHelp;
  text += kMountOptions;
  text += kExitStatuses;
  if (is_program) text += kOfCommands;
  text += ".\n";
  return text;
}

}  // namespace recordfs
