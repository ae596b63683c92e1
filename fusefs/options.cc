#include "fusefs/options.h"

#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/location.h"
#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

constexpr std::string_view kProgramUsage =
    R"(recordfs mounts a file of records as a directory with one file per record.

Usage: recordfs [OPTION]... SOURCE... MOUNTPOINT
       recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
       recordfs COMMAND [ARGUMENT]...
  recordfs data.log mnt; ls mnt/records; cat mnt/records/42; recordfs umount mnt
)";

constexpr std::string_view kCommandUsage =
    R"(Mounts files of records as a directory with one file per record.

Usage: recordfs mount [OPTION]... SOURCE... [MOUNTPOINT]
  recordfs mount data.log; cat data/records/42; recordfs umount data
)";

constexpr std::string_view kMountPoint =
    "\nA missing mount point is created, and removed at the end. If none is given, it is named after the first source, "
    "in the current directory: data for data.log, or data.mnt if data is taken; its name is printed. The last of "
    "several paths is the mount point, unless it is a file.\n";

constexpr std::string_view kMount8Usage =
    R"(Mounts a file of records, for mount(8) and fstab(5).

Usage: mount.recordfs SOURCE DIRECTORY [OPTION]... [-t TYPE]
  mount -t recordfs data.log /mnt
  in /etc/fstab: /srv/data.log /mnt recordfs noauto,user 0 0
)";

constexpr std::string_view kAfterOptions =
    "\nThe mount is always read-only. Other options of mount(8) and fstab(5) are accepted: nofail, _netdev, noauto, "
    "user, x-systemd.*, ... SIGUSR1 writes statistics to the log.\n";

constexpr std::string_view kExitStatuses =
    "\nExit status: 0 success, 1 usage error, 2 a source cannot be opened or is not a container, 3 cannot mount";
constexpr std::string_view kOfCommands = ", 4 damage found, 5 partly done; grep and get return 0, 1 and 2";

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

// The command line before it is checked.
struct CommandLine {
  Options options;
  std::vector<std::string> places;
  std::vector<std::string> lists;  // -o
  bool quiet = false;
  bool verbose = false;
  bool wants_help = false;
  bool wants_version = false;
  bool wants_json = false;
  std::string manifest;  // empty: not given
  std::string ignored;
};

// Flags of recordfs itself.
void declare_own(CLI::App& app, CommandLine& line) {
  Options& options = line.options;
  app.add_flag("-f,--foreground", options.foreground,
               "stay in the foreground and log to stderr; the default is the system log (see -o log=FILE)\n"
               "If there is neither a system log nor `-o log`, a mount in the background warns at the start that its "
               "messages are lost, unless `-q` is given.");
  app.add_flag("--join", options.join, "same as -o join");
  app.add_option("--manifest", line.manifest,
                 "mount the files that a text file lists as one data set: the source F with -o join,manifest\n"
                 "`-` is standard input.")
      ->type_name("F");
  app.add_flag_callback(
      "--no-sign-request", [&options] { options.remote.sign = false; },
      "send no credentials to servers of URLs, for public buckets: the same as -o no_sign_request");
  app.add_flag_callback(
      "--no-cache", [&options] { options.remote.uses_disk = false; },
      "keep nothing of remote files on the disk: the same as -o no_disk_cache");
  app.add_flag("-d,--debug", options.debug, "like -f, and log every request");
  app.add_flag("-s,--single-threaded", options.single_threaded, "answer requests with one thread");
  app.add_flag("-q,--quiet", line.quiet, "log only errors");
  app.add_option_function<std::string>(
         "--ready-fd",
         [&options](const std::string& text) {
           options.ready_fd = parse_number<int>(text);
           if (options.ready_fd.value_or(-1) < 0) throw CLI::ValidationError("--ready-fd", "not a descriptor: " + text);
         },
         "when the mount is ready, write a newline to this descriptor and close it\n"
         "systemd(1) is notified automatically.")
      ->type_name("N");
}

// Flags that mount(8) passes to its helpers. The letters differ from recordfs' own.
void declare_mount8(CLI::App& app, CommandLine& line) {
  app.add_flag("-s", line.options.sloppy, "ignore unknown mount options");
  app.add_flag("-f", line.options.fake, "check the options, but do not mount");
  app.add_flag("-n")->description("ignored: recordfs never writes /etc/mtab");
  app.add_option_function<std::string>(
         "-N", [&line](const std::string& place) { line.options.mount_namespace = place; },
         "mount in this namespace: a process id, or a file")
      ->type_name("NAMESPACE");
}

void declare(CLI::App& app, Form form, CommandLine& line) {
  app.set_help_flag();
  if (form == Form::kMount8) {
    declare_mount8(app, line);
  } else {
    declare_own(app, line);
  }
  app.add_flag("-v,--verbose", line.verbose,
               "also log which files were opened, how long scans took, and which indexes were used or saved\n"
               "Of remote files, the log also has the number of requests and bytes at the end.");
  app.add_option("-o", line.lists, "mount options, see below")
      ->type_name("OPTION,...")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("-h,--help", line.wants_help, "print a summary of the options");
  app.add_flag(
      "-V,--version", line.wants_version,
      "print the versions of recordfs and its libraries\n"
      "These are libfuse, the codecs and libprotobuf. The kernel's version of the FUSE protocol is printed too.");
  app.add_flag("--json", line.wants_json,
               "print --version as one JSON object\n"
               "It also has the formats and what this build can do.");
  app.add_option("-t", line.ignored);
  app.add_option("place", line.places);
}

ParsedOptions wrong_use(std::string_view reason) {
  return {.status = kExitWrongUse,
          .output = fmt::format("recordfs: {} (try recordfs --help)\n", printable(std::string(reason)))};
}

// Sets sources and mount point. Returns the error, or nothing.
std::optional<std::string> take_places(std::vector<std::string> places, Options& options) {
  if (places.empty()) return "no source and no mount point given";
  if (places.size() == 1 && options.form == Form::kProgram) {
    return fmt::format("no mount point given (recordfs mount {} creates one)", places.front());
  }
  if (places.size() == 1 && options.form == Form::kMount8) return "no mount point given";
  if (places.size() > 1) {
    options.mountpoint = std::move(places.back());
    places.pop_back();
  }
  for (const std::string& place : places) options.sources.push_back(Location(place).text());
  return std::nullopt;
}

// Accepts options after arguments, where mount(8) puts them.
ParsedOptions finished(CommandLine line) {
  Options& options = line.options;
  for (const std::string& list : line.lists) {
    if (auto wrong = apply_mount_options(list, options)) return wrong_use(*wrong);
  }
  // Before a URL is named.
  options.remote.memory_bytes = options.remote.pass_bytes = options.cache_size / 2;
  remote::Session::set_options(options.remote);
  if (line.quiet && line.verbose) return wrong_use("-q and -v are mutually exclusive");
  if (line.quiet) options.verbosity = Verbosity::kErrors;
  if (line.verbose) options.verbosity = Verbosity::kDetails;
  if (options.debug) options.foreground = true;
  if (!line.manifest.empty()) {
    line.places.insert(line.places.begin(), std::move(line.manifest));
    options.manifest = true;
  }
  if (auto wrong = take_places(std::move(line.places), options)) return wrong_use(*wrong);
  if (options.manifest) {
    if (options.sources.size() > 1) return wrong_use("a manifest excludes other sources: " + options.sources[1]);
    if (options.sources.front() == "-" && options.mountpoint.empty()) return wrong_use("no mount point given");
    if (options.follow) return wrong_use("-o manifest and -o follow are mutually exclusive");
    options.join = true;
  }
  if (options.join && options.nest) return wrong_use("-o join and -o nest are mutually exclusive");
  if (options.timeout != 0 && options.mountpoint.starts_with("/dev/fd/")) {
    return wrong_use("-o timeout: cannot unmount what another program has mounted");
  }
  return {.options = std::move(options)};
}

// Returns our message for one of CLI11's about the value of an option. Our own functions convert values, so only a flag
// has one that cannot be converted.
std::string value_error(const std::string& text) {
  constexpr std::string_view kFlag = "Could not convert: ";
  constexpr std::string_view kIs = " = ";
  constexpr std::string_view kMissing = ": 1 required ";
  if (const std::size_t is = text.find(kIs); text.starts_with(kFlag) && is != std::string::npos) {
    const std::string name = text.substr(kFlag.size(), is - kFlag.size());
    return fmt::format("{} takes no value: {}", name, text.substr(is + kIs.size()));
  }
  if (const std::size_t end = text.find(kMissing); end != std::string::npos) {
    const std::size_t type = end + kMissing.size();
    return fmt::format("{} requires a value: {}", text.substr(0, end), text.substr(type, text.rfind(' ') - type));
  }
  return text;
}

}  // namespace

std::string help_text(Form form, std::span<const HelpLine> commands) {
  const bool is_program = form == Form::kProgram;
  std::string text(is_program ? kProgramUsage : form == Form::kCommand ? kCommandUsage : kMount8Usage);
  if (form == Form::kCommand) text += kMountPoint;
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

std::optional<std::uint64_t> parse_remote_scan(const std::string& text) {
  if (text == "auto") return UINT64_MAX;
  if (text == "never") return std::uint64_t{0};
  return parse_size(text);
}

std::vector<OptionText> mount_flags(Form form) {
  CommandLine line;
  CLI::App app;
  declare(app, form, line);
  std::vector<OptionText> flags = option_texts(app);
  flags.front().heading = "Options";
  return flags;
}

ParsedOptions parse_options(Form form, int argc, const char* const* argv, const OptionTexts& texts) {
  CommandLine line;
  line.options.form = form;
  CLI::App app;
  declare(app, form, line);
  const std::span words(argv + 1, argv + argc);
  const auto stopped = parse_words(app, {words.rbegin(), words.rend()});
  if (stopped) return wrong_use(usage_error(app, *stopped));
  if (line.wants_help) return {.status = 0, .output = texts.help()};
  if (line.wants_version) return {.status = 0, .output = line.wants_json ? texts.version_json() : texts.version()};
  if (line.wants_json) return wrong_use("--json requires --version");
  return finished(std::move(line));
}

std::optional<CLI::ParseError> parse_words(CLI::App& app, std::vector<std::string> words) {
  try {
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& stopped) {
    return stopped;
  }
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::ConversionError || code == CLI::ExitCodes::ArgumentMismatch) {
    return value_error(error.what());
  }
  const std::vector<std::string> unknown = app.remaining();
  if (code != CLI::ExitCodes::ExtrasError || unknown.empty()) return error.what();
  const std::string& word = unknown.front();
  if (!word.starts_with('-')) return "unexpected argument: " + word;
  const bool is_file = ::access(word.c_str(), F_OK) == 0;
  return "unknown option: " + word + (is_file ? "; the file of this name is ./" + word : "");
}

std::string OptionText::usage() const {
  const std::string_view separator = value.empty() ? "" : names.front().starts_with('-') ? " " : "=";
  return fmt::format("{}{}{}", fmt::join(names, ", "), separator, value);
}

std::vector<OptionText> option_texts(const CLI::App& app) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : app.get_options()) {
    OptionText text{.text = option->get_description()};
    if (option->get_items_expected_max() > 0) text.value = option->get_type_name();
    for (const std::string& letter : option->get_snames()) text.names.push_back("-" + letter);
    for (const std::string& word : option->get_lnames()) text.names.push_back("--" + word);
    if (!text.names.empty() && !text.text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace recordfs
