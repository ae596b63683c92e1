// recordfs-fetch: fetches remote objects for the process that has started it. See core/remote/protocol.h.
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef RECORDFS_STATIC
#include <nss.h>
#endif

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/thrown.h"
#include "core/fetch/block_writer.h"
#include "core/fetch/confinement.h"
#include "core/fetch/disk_cache.h"
#include "core/fetch/job.h"
#include "core/fetch/options.h"
#include "core/fetch/server.h"
#include "core/fetch/transfer.h"
#include "core/fetch/url_names.h"

namespace recordfs::fetch {
namespace {

int fail(std::string_view reason) {
  const std::string line = "recordfs-fetch: " + std::string(reason) + '\n';
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) == 0);
  return EXIT_FAILURE;
}

bool is_packet_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof(type);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// Leaves the terminal and the files of the client. The end of the socket is what ends the fetcher.
void detach() {
  ::setsid();
  for (const int ignored : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(ignored, SIG_IGN);
  ::close_range(remote::kArenaDescriptor + 1, ~0u, 0);
  ::umask(077);
  static_cast<void>(::chdir("/") == 0);
  const Descriptor none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!none) return;
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(none.number(), standard);
}

// Memory with secrets must not be in files, nor be read by other processes of the user.
void hide_memory() {
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
}

std::unique_ptr<DiskCache> open_cache(const FetcherOptions& options) {
  if (!options.has_cache) return nullptr;
  const std::string folder = options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
  if (folder.empty()) return nullptr;
  auto cache = DiskCache::open(folder, options.cache_size);
  return cache ? std::move(*cache) : nullptr;
}

// libcurl allocates a buffer for each request. Memory from the system would be cleared and mapped each time.
void reuse_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 8 << 20;  // bytes
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

// Makes a static program resolve names without the modules of nsswitch.conf, which are for another C library.
void resolve_names_alone() {
#ifdef RECORDFS_STATIC
  ::__nss_configure_lookup("hosts", "files dns");
  ::__nss_configure_lookup("services", "files");
  ::__nss_configure_lookup("passwd", "files");
#endif
}

int run(int count, char** arguments) {
  const std::vector<const char*> given(arguments + 1, arguments + count);
  const auto options = parse_options(given);
  if (!options) return fail(options.error().detail);
  struct stat st {};
  if (!is_packet_socket(remote::kSocketDescriptor) || ::fstat(remote::kArenaDescriptor, &st) != 0 || st.st_size <= 0) {
    return fail("started by recordfs, not by hand");
  }
  Descriptor socket(remote::kSocketDescriptor);
  ::fcntl(socket.number(), F_SETFD, FD_CLOEXEC);
  const auto size = static_cast<std::size_t>(st.st_size);
  void* const arena = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, remote::kArenaDescriptor, 0);
  if (arena == MAP_FAILED) return fail("cannot map the shared memory");
  ::close(remote::kArenaDescriptor);
  hide_memory();
  reuse_memory();
  detach();
  resolve_names_alone();
  auto network = Network::create({.timeout = options->timeout});
  if (!network) return EXIT_FAILURE;
  const auto opened = open_cache(*options);
  DiskCache* const cache = opened.get();
  confine(cache == nullptr ? -1 : cache->folder());
  UrlNames names({.sign = options->sign}, [&network](const HttpRequest& request, std::chrono::milliseconds timeout) {
    return (*network)->send_once(request, timeout);
  });
  BlockWriter writer([&network] { (*network)->wake(); });
  JobContext context{.network = **network,
                     .names = names,
                     .writer = writer,
                     .cache = cache,
                     .arena = MutableBytes(static_cast<std::byte*>(arena), size),
                     .timeout = options->timeout};
  Server(std::move(socket), context).run();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace recordfs::fetch

int main(int count, char** arguments) {
  int status = EXIT_FAILURE;  // without memory, the client finds the socket closed
  static_cast<void>(recordfs::has_memory_for([&] { status = recordfs::fetch::run(count, arguments); }));
  return status;
}
