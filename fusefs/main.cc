// recordfs: mounts, or runs the command that the first word names.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "fusefs/commands/command.h"
#include "fusefs/glue/session.h"
#include "fusefs/mount_command.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

// Chunks come and go, each about as large as the one before: their memory stays with the process, in one place, and is
// not fetched from the system page by page for each.
void reuse_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 32 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

// A file that is opened must not become standard input, output or error: going to the background closes these.
void fill_standard_descriptors() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);
  if (opened > STDERR_FILENO) ::close(opened);
}

int mount(int argc, const char* const* argv) {
  const ParsedOptions parsed =
      parse_options(argc, argv, fmt::format("recordfs {}\n{}", RECORDFS_VERSION, fuse_version()));
  if (parsed.options) return mount_sources(*parsed.options);
  std::fputs(parsed.output.c_str(), parsed.status == 0 ? stdout : stderr);
  return parsed.status;
}

int run(int argc, const char* const* argv) {
  fill_standard_descriptors();
  reuse_memory();
  if (argc > 1) {
    if (const Command* command = find_command(argv[1])) return run_command(*command, argc - 1, argv + 1);
  }
  return mount(argc, argv);
}

}  // namespace
}  // namespace recordfs

int main(int argc, char** argv) { return recordfs::run(argc, argv); }
