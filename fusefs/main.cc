// recordfs: mounts, or runs the command that its first argument names.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/helper_process.h"
#include "core/base/parse_number.h"
#include "core/remote/remote_storage.h"
#include "core/remote/session.h"
#include "fusefs/commands/command.h"
#include "fusefs/exit_status.h"
#include "fusefs/glue/signals.h"
#include "fusefs/help_layout.h"
#include "fusefs/messages.h"
#include "fusefs/mount_command.h"
#include "fusefs/options.h"
#include "fusefs/version_text.h"

namespace recordfs {
namespace {

// Keeps freed memory in one arena. Chunks come and go at similar sizes, and page faults for each would be slow.
void reuse_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 32 << 20;
  constexpr int kGrowth = 16 << 20;  // so that the heap grows by several large pages
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, kGrowth);
#endif
}

// Returns the words of the command line. Overwrites URLs in the original without their secrets, because ps(1) shows it
// to all users as long as the process runs.
std::vector<std::string> take_words(int argc, char** argv) {
  std::vector<std::string> words;
  words.reserve(static_cast<std::size_t>(argc));
  for (int i = 0; i < argc; ++i) {
    const std::string& word = words.emplace_back(argv[i]);
    const std::size_t url = word.find("http");  // also after an option's name
    if (url == std::string::npos || !remote::may_have_secrets(word.substr(url))) continue;
    const std::string shown = word.substr(0, url) + remote::without_secrets(word.substr(url));
    ::explicit_bzero(argv[i], word.size());
    shown.copy(argv[i], word.size());
  }
  return words;
}

// Returns the descriptors that a command line names: with a path such as /dev/fd/3 or /proc/self/fd/3, or for
// --ready-fd.
std::set<unsigned> named_descriptors(int argc, const char* const* argv) {
  constexpr std::string_view kFolder = "/fd/";
  constexpr std::string_view kReady = "--ready-fd";
  std::set<unsigned> named;
  bool is_number = false;  // the word is the value of --ready-fd
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t folder = word.find(kFolder);
    std::string_view number = is_number ? word : std::string_view();
    if (folder != std::string_view::npos) number = word.substr(folder + kFolder.size());
    if (word.starts_with(kReady) && word.size() > kReady.size()) number = word.substr(kReady.size() + 1);
    is_number = word == kReady;
    number = number.substr(0, number.find_first_not_of("0123456789"));
    if (const auto one = parse_number<unsigned>(number)) named.insert(*one);
  }
  return named;
}

// Prevents opened files from becoming standard streams. Reading or writing one that was closed fails.
void fill_standard_descriptors() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    const bool is_closed = ::fcntl(stream, F_GETFD) < 0;
    if (is_closed && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

int mount(Form form, int argc, const char* const* argv) {
  hold_usr1();
  const auto help = [form] { return wrapped(help_text(form, command_lines()), help_width()); };
  ParsedOptions parsed =
      parse_options(form, argc, argv, {.help = help, .version = version_text, .version_json = version_json});
  if (parsed.options) return mount_sources(std::move(*parsed.options));
  std::fputs(parsed.output.c_str(), parsed.status == 0 ? stdout : stderr);
  return parsed.status;
}

// `recordfs help COMMAND` is `recordfs COMMAND --help`.
int help(int argc, const char* const* argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const std::array words = {argc > 1 ? argv[1] : "recordfs", "--help"};
  constexpr int kWords = 2;
  if (name == "mount") return mount(Form::kCommand, kWords, words.data());
  if (const Command* command = find_command(name)) return run_command(*command, kWords, words.data());
  const bool is_own = name.empty() || name.starts_with('-') || name == "help" || name == "version";
  if (is_own) return mount(Form::kProgram, kWords, words.data());
  print_message(no_such_command("command", name));
  return kExitWrongUse;
}

// `recordfs version` is `recordfs --version`; only --json may follow.
int version(int argc, const char* const* argv) {
  std::vector<const char*> words{"recordfs", "--version"};
  words.insert(words.end(), argv + 1, argv + argc);
  return mount(Form::kProgram, static_cast<int>(words.size()), words.data());
}

// Returns whether a first word was meant to be a command, because there is no such file and it is only letters.
bool looks_like_command(const char* word) {
  constexpr std::size_t kLongest = 20;
  const std::string_view text = word;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos && ::access(word, F_OK) != 0 &&
         errno == ENOENT;
}

// mount(8) selects the form by the program's name only.
bool is_called_by_mount(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  return name == "mount.recordfs" || name == "mount.fuse.recordfs";
}

// The files of a database in use stay open, and there may be thousands.
void raise_descriptor_limit() {
  constexpr rlim_t kEnough = 65536;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, fewer files stay open
}

int run(int argc, const char* const* argv) {
  fill_standard_descriptors();
  // Others are open by mistake of the program that started this one. Code that takes over the process could use them.
  close_descriptors_except(named_descriptors(argc, argv));
  raise_descriptor_limit();
  reuse_memory();
  remote::add_remote_storages(remote::Host::kProgram);
  if (argc > 0 && is_called_by_mount(argv[0])) return mount(Form::kMount8, argc, argv);
  if (argc > 1) {
    const std::string_view word = argv[1];
    if (word == "mount") return mount(Form::kCommand, argc - 1, argv + 1);
    if (word == "help") return help(argc - 1, argv + 1);
    if (word == "version") return version(argc - 1, argv + 1);
    if (const Command* command = find_command(word)) return run_command(*command, argc - 1, argv + 1);
    if (looks_like_command(argv[1])) {
      print_message(no_such_command("command or file", word));
      return kExitWrongUse;
    }
  }
  return mount(Form::kProgram, argc, argv);
}

}  // namespace
}  // namespace recordfs

int main(int argc, char** argv) {
  const std::vector<std::string> words = recordfs::take_words(argc, argv);
  std::vector<const char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  const int status = recordfs::run(argc, pointers.data());
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  recordfs::print_message(fmt::format("standard output: {}", std::strerror(errno)));
  return status == recordfs::kExitGood ? recordfs::kExitPartlyDone : status;
}
