// The command line of the mount: what was asked for, or what is wrong with it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"

namespace recordfs {

// The ways in which a mount is asked for. They share all but what the arguments mean.
enum class Form : std::uint8_t {
  kProgram,  // recordfs SOURCE... MOUNTPOINT
  kCommand,  // recordfs mount SOURCE... [MOUNTPOINT]
  kMount8,   // mount.recordfs SOURCE DIRECTORY, as mount(8) calls it, with flags of its own
};

enum class Verbosity : std::uint8_t { kErrors, kUsual, kDetails };

struct Options {
  Form form = Form::kProgram;
  std::vector<std::string> sources;
  std::string mountpoint;  // empty with kCommand: to be named after the first source
  bool foreground = false;
  bool debug = false;
  bool single_threaded = false;
  bool fake = false;    // mount(8) -f: everything but the mount
  bool sloppy = false;  // mount(8) -s: unknown mount options are passed over
  bool allow_other = false;
  bool allow_root = false;
  bool auto_unmount = false;
  bool nest = false;
  bool nonempty = false;
  bool follow = false;  // files that grow show what is added
  bool xattr = false;
  bool redact = false;
  Verbosity verbosity = Verbosity::kUsual;
  std::uint64_t cache_size = 64ull << 20;  // bytes
  unsigned threads = 8;
  unsigned timeout = 0;  // idle seconds until it unmounts itself; 0: never
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<mode_t> umask;
  std::optional<bool> sandbox;  // give up what the mount does not need
  std::optional<std::string> fsname;
  std::optional<unsigned> max_read;  // bytes that the kernel asks for at once, at the most
  std::optional<int> ready_fd;
  std::optional<std::string> mount_namespace;  // a process id or a file, as mount(8) -N has it
  std::string index = "auto";                  // or "no", or a directory
  std::string log_file;                        // empty: the system's log, or stderr in the foreground
  std::string record_suffix;
  std::string descriptors;                 // a file of them; empty: none
  std::string type;                        // of all records; empty: what the file says
  std::optional<std::size_t> listed_keys;  // of a container, at the most
  std::vector<std::string> passed_on;      // to libfuse, as they were given
  Limits limits;
};

// What to do with a command line: mount, or leave with `status` after `output` went to stdout (status 0) or
// stderr.
struct ParsedOptions {
  std::optional<Options> options{};
  int status = 0;
  std::string output{};
};

// Texts that are made only for who asks for them.
struct OptionTexts {
  std::function<std::string()> help;
  std::function<std::string()> version;
};

// Nothing but the command line is looked at: whether a source or a mount point is there, is not.
ParsedOptions parse_options(Form form, int argc, const char* const* argv, const OptionTexts& texts);

// "64M" as bytes: a decimal number and K, M, G or T for powers of 1024. nullopt for anything else and for what
// passes 64 bits.
std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace recordfs
