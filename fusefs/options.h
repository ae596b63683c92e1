// The command line of the mount: its options, and what --help says about them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/remote/session.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace recordfs {

// How the mount was started. All forms share the mount options (-o).
enum class Form : std::uint8_t {
  kProgram,  // recordfs SOURCE... MOUNTPOINT
  kCommand,  // recordfs mount SOURCE... [MOUNTPOINT]
  kMount8,   // mount.recordfs SOURCE DIRECTORY, run by mount(8) with its own flags
};

enum class Verbosity : std::uint8_t { kErrors, kUsual, kDetails };

// As many a listing may request from a server, if the user says nothing.
inline constexpr std::uint64_t kUsualRemoteScan = 100u << 20;  // bytes

struct Options {
  Form form = Form::kProgram;
  std::vector<std::string> sources;
  std::string mountpoint;  // empty with kCommand: named after the first source
  bool foreground = false;
  bool debug = false;
  bool single_threaded = false;
  bool fake = false;    // mount(8) -f: do not mount
  bool sloppy = false;  // mount(8) -s: ignore unknown mount options
  bool allow_other = false;
  bool allow_root = false;
  bool auto_unmount = false;
  bool nest = false;
  bool join = false;      // the sources are one data set
  bool manifest = false;  // the only source is a text file that lists its files
  bool nonempty = false;
  bool follow = false;  // show appended records
  bool xattr = false;
  bool redact = false;
  Verbosity verbosity = Verbosity::kUsual;
  std::uint64_t cache_size = 64ull << 20;  // bytes
  unsigned threads = 8;
  unsigned timeout = 0;  // idle seconds until it unmounts; 0: never
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<mode_t> umask;
  std::optional<bool> sandbox;  // drop privileges that the mount does not need
  std::optional<std::string> fsname;
  std::optional<unsigned> max_read;  // bytes per read request of the kernel
  std::optional<int> ready_fd;
  std::optional<std::string> mount_namespace;  // process id or file (mount(8) -N)
  std::string index = "auto";                  // or "no", or a directory
  std::string log_file;                        // empty: system log, or stderr in the foreground
  std::string metrics_file;                    // empty: none
  std::string record_suffix;
  std::string wal_directory;                   // of a database; empty: as its files say
  std::vector<std::string> table_directories;  // of a database, besides its own
  std::string descriptors;                     // file; empty: none
  std::string type;                            // of all records; empty: from the file
  std::vector<std::string> passed_on;          // to libfuse, unchanged
  Limits limits;
  remote::Options remote;
  std::uint64_t remote_scan = kUsualRemoteScan;  // most bytes that a scan requests from a server
};

// Of a mount, and of a command.
inline constexpr unsigned kMostThreads = 1024;

// Either options to mount with, or `output` to print, on stdout if `status` is 0 and otherwise on stderr.
struct ParsedOptions {
  std::optional<Options> options{};
  int status = 0;
  std::string output{};
};

// What --help, the man pages, and the completion of shells say about an option.
struct OptionText {
  std::vector<std::string> names{};  // -v, --verbose; or of a mount option, nest
  std::string value{};               // name of the value; empty: the option has none
  std::string text{};     // a line for --help; further lines, where `x` is literal, are for the man page only
  std::string heading{};  // in --help, before this option and the next ones; empty: none

  std::string usage() const;  // "-o OPTION,..."; "uid=N"
  std::string help() const { return text.substr(0, text.find('\n')); }
  bool operator==(const OptionText&) const = default;
};

// Parses words, of which the last one is the first of the command line. Returns the reason if `app` did not accept
// them; one with exit code 0 if help is asked for. Throws std::bad_alloc.
std::optional<CLI::ParseError> parse_words(CLI::App& app, std::vector<std::string> words);
// Returns the message for a command line that `app` could not parse.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Returns the options that are declared on `app` and have a text.
std::vector<OptionText> option_texts(const CLI::App& app);

// Returns the mount options (-o) that are documented, in the order of --help: recordfs' own, libfuse's, and those that
// mount(8) and fstab(5) pass on.
std::vector<OptionText> mount_options();

// Applies a comma-separated list of mount options; a backslash escapes the next character. Returns the error, or
// nothing. Unknown options are errors unless options.sloppy. Thread-safe.
std::optional<std::string> apply_mount_options(const std::string& list, Options& options);

// Returns the documented options besides mount options.
std::vector<OptionText> mount_flags(Form form);

// A command in the list of --help.
struct HelpLine {
  std::string_view name;
  std::string_view summary;
};

// Returns the text of --help, which ends with a newline, and in which each paragraph is one line. Only Form::kProgram
// lists `commands`.
std::string help_text(Form form, std::span<const HelpLine> commands);

// Texts that are made only on request.
struct OptionTexts {
  std::function<std::string()> help;
  std::function<std::string()> version;
  std::function<std::string()> version_json;
};

// Parses the command line. Does not access sources or mount point.
ParsedOptions parse_options(Form form, int argc, const char* const* argv, const OptionTexts& texts);

// Parses a size in bytes: a decimal number, optionally with K, M, G or T for powers of 1024. Returns nullopt if it is
// invalid or exceeds 64 bits.
std::optional<std::uint64_t> parse_size(const std::string& text);

// Returns how many bytes a scan may request from a server: "auto" permits all, "never" none, and a size so many.
// nullopt: invalid.
std::optional<std::uint64_t> parse_remote_scan(const std::string& text);

}  // namespace recordfs
