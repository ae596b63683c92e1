#include "fusefs/help.h"

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::string_view kProgramUsage =
    R"(recordfs shows a file full of records as a directory with a file for each of them.

Usage: recordfs [OPTION]... SOURCE... MOUNTPOINT
       recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
       recordfs COMMAND [ARGUMENT]...
  recordfs data.log mnt; ls mnt/records; cat mnt/records/42; fusermount3 -u mnt
)";

constexpr std::string_view kCommandUsage =
    R"(Mounts files full of records as a directory with a file for each record.

Usage: recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
  recordfs mount data.log; ls data/records; cat data/records/42; fusermount3 -u data

A mount point that is not there is made, and removed at the end. Without one it is named after the first source, in the
current directory: data for data.log, or data.mnt where data is taken; its name is printed. The last of several
places is the mount point, unless it is a file.
)";

constexpr std::string_view kMount8Usage =
    R"(Mounts a file full of records for mount(8) and fstab(5).

Usage: mount.recordfs SOURCE DIRECTORY [-sfnv] [-N NAMESPACE] [-o OPTION,...] [-t TYPE]
  mount -t recordfs data.log /mnt
  in /etc/fstab: /srv/data.log /mnt recordfs noauto,user 0 0
  -s                pass over mount options that nobody knows
  -f                do nothing: all but the mount
  -n                accepted
  -v                log more
  -N NAMESPACE      mount in the namespace of a process id, or of a file
)";

constexpr std::string_view kFlagHelp = R"(
Options:
  -f, --foreground  stay in the foreground and log to stderr; otherwise the log is the system's (-o log=FILE)
  -d, --debug       as -f, with a trace of every request
  -s, --single-threaded
                    answer requests with one thread
  -q, --quiet       log errors alone
  -v, --verbose     log also what was opened, how long walks took, and which index was used or saved
  --ready-fd N      write a newline to that descriptor, and close it, when the mount stands
  -o OPTION,...     mount options
  -h, --help        this text
  -V, --version     the versions of recordfs and of its libraries
)";

constexpr std::string_view kMountOptions = R"(
Mount options (-o), for who may read what:
  allow_other       let other users in, as far as the source's permissions let them
  allow_root        let root in, and nobody else
  uid=N             owner of all files instead of the source's
  gid=N             group of all files instead of the source's
  umask=OCTAL       permissions instead of the source's read bits

for what is shown:
  nest              a directory for the container even when there is only one
  follow            show what others append to the files, and take what is unfinished at their ends for no damage
  descriptors=FILE  a file of protoc --descriptor_set_out, for the protobuf messages of records
  type=NAME         the full name of every record's message type; the only one of FILE needs no name
  record_suffix=S   record files are called 000000042S, as in record_suffix=.pb (default: nothing)
  listed_keys=N     how many keys of a database's log or table keys/ lists, each 100 to 200 bytes of memory
                    (default 1000000); the others are found by their names
  xattr             extended attributes: user.recordfs.ordinal and its kin, user.mime_type
  nonempty          mount over a directory that is not empty
  fsname=NAME       what the first column of mount(8) shows (default: the source)

for time and memory:
  cache_size=SIZE   bound of the cache of decoded chunks (default 64M)
  max_chunk=SIZE    largest chunk that is read, as stored and decoded (default 256M stored, 1G decoded)
  threads=N         threads that answer requests (default 8); two more do what takes long
  max_read=N        bytes that the kernel asks for at once
  index=auto        save what the walk through a large file finds in $XDG_CACHE_HOME/recordfs, or
                    ~/.cache/recordfs, for the next mount of it (default)
  index=no          save nothing and use nothing that was saved
  index=DIRECTORY   the same as auto, in another directory, which has to be the user's alone

for its end, its confinement, and the log:
  timeout=SECONDS   unmount when nobody has asked for anything for so long, and nothing is open (default 0: never)
  auto_unmount      leave it to fusermount3 to unmount after the program was killed; users other than root need
                    allow_root with it (recordfs does it anyway)
  sandbox=no        keep what the mount does not need (default yes: no capability but root's to read all of a directory,
                    no file but the sources and the saved indexes, no program, no connection)
  log=FILE          append the log to FILE, with time stamps, instead of the system's log or stderr
  redact            names of sources, and keys from files, stay out of the log
  debug             as -d

ro is the only way there is. What mount(8) and fstab(5) add is accepted: nofail, _netdev, noauto, user, x-systemd.*, ...
SIGUSR1 writes statistics to the log.
)";

constexpr std::string_view kExitStatuses =
    "\nExit status: 0 good, 1 wrong use, 2 cannot open a source or it is no container, 3 cannot mount";
constexpr std::string_view kOfCommands = ",\n4 damage found, 5 partly done; grep has 0, 1 and 2";

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
