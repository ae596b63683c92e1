#include "fusefs/metrics.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/source.h"
#include "core/base/thread.h"
#include "core/base/utf8.h"
#include "core/remote/session.h"

namespace recordfs {
namespace {

constexpr const char* kName = "recordfs-metric";  // of the process that writes
constexpr std::size_t kLongestText = 64u << 10;
constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;  // another user's exporter reads it

// Returns the value of a label between its quotes. A backslash of printable() is escaped once more.
std::string escaped_label(std::string_view value) {
  std::string escaped;
  for (const char c : printable(value)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Text of metrics, whose names and other labels are constants.
class MetricsText {
 public:
  explicit MetricsText(std::string_view mount) : mount_(fmt::format("mount=\"{}\"", escaped_label(mount))) {}

  // Begins a metric. A counter only grows, and its name ends with _total.
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP recordfs_{} {}\n# TYPE recordfs_{} {}\n", name, help, name, type);
  }
  void sample(std::uint64_t value) { text_ += fmt::format("recordfs_{}{{{}}} {}\n", name_, mount_, value); }
  void sample(std::string_view label, std::string_view of, std::uint64_t value) {
    text_ += fmt::format("recordfs_{}{{{}=\"{}\",{}}} {}\n", name_, label, of, mount_, value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    begin(name, "counter", help);
    sample(value);
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    begin(name, "gauge", help);
    sample(value);
  }

  std::string take() { return std::move(text_); }

 private:
  const std::string mount_;
  std::string_view name_;
  std::string text_;
};

void add_caches(MetricsText& text, const StoreResources& services) {
  const auto chunks = services.chunks.statistics();
  const auto layouts = services.layouts.statistics();
  const auto both = [&](std::uint64_t of_chunks, std::uint64_t of_layouts) {
    text.sample("cache", "chunks", of_chunks);
    text.sample("cache", "layouts", of_layouts);
  };
  text.begin("cache_hits_total", "counter", "Requests that the cache answered.");
  both(chunks.hits, layouts.hits);
  text.begin("cache_misses_total", "counter", "Requests that had to decode.");
  both(chunks.misses, layouts.misses);
  text.begin("cache_bytes", "gauge", "Bytes in the cache.");
  both(chunks.bytes, layouts.bytes);
  text.begin("cache_capacity_bytes", "gauge", "The most bytes that the cache keeps.");
  both(services.chunks.capacity(), services.layouts.capacity());
}

}  // namespace

std::string metrics_text(std::string_view mount, const StoreResources& services, const RequestStatistics& requests,
                         const SourceCounts& sources, std::chrono::seconds uptime) {
  MetricsText text(mount);
  text.begin("build_info", "gauge", "The program's version; the value is always 1.");
  text.sample("version", RECORDFS_VERSION, 1);
  text.begin("requests_total", "counter", "Requests of the kernel.");
  for (const auto& [kind, count] : requests.by_kind) text.sample("kind", kind, count);
  text.counter("read_errors_total",
               "Requests that were answered with an input/output error: damage, or a source that cannot be read.",
               requests.errors);
  text.counter("pushed_records_total", "Records that were pushed into the kernel's cache.", requests.pushed_records);
  text.counter("pushed_bytes_total", "Bytes that were pushed into the kernel's cache.", requests.pushed_bytes);
  add_caches(text, services);
  text.counter("read_bytes_total", "Bytes that were read from the sources.", FileSource::bytes_read());
  if (remote::Session::is_used()) {
    const remote::Traffic traffic = remote::Session::of_process().traffic();
    text.counter("remote_requests_total", "Requests to servers, with repeated ones.", traffic.requests);
    text.counter("remote_retries_total", "Requests to servers that were repeated.", traffic.retries);
    text.counter("remote_bytes_total", "Bytes of files that servers have sent.", traffic.bytes);
    text.counter("remote_disk_hits_total", "Blocks of remote files that were found on the disk.", traffic.cache_hits);
  }
  text.counter("decoded_bytes_total", "Bytes of decoded chunks.", services.decoded_bytes);
  text.counter("damage_total",
               "Places of the sources that are damaged or could not be read, as far as the log has them.",
               services.damaged_places);
  text.gauge("sources", "Files that the mount shows, without those of mirrored directories.", sources.all);
  text.gauge("scanned_sources", "Files of them whose records are counted. Scans begin on first use.", sources.scanned);
  text.gauge("missing_shards", "Files of them that their data set should have, and that did not exist.",
             sources.missing);
#ifdef __GLIBC__
  const struct mallinfo2 memory = mallinfo2();
  text.gauge("memory_bytes", "Memory in use on the heap.", memory.uordblks + memory.hblkhd);
#endif
  text.gauge("uptime_seconds", "Seconds since the mount began.", static_cast<std::uint64_t>(uptime.count()));
  return text.take();
}

namespace {

// Writes texts to a file in an open directory.
class Writer {
 public:
  Writer(const Descriptor& directory, std::string name)
      : directory_(directory.number()), name_(std::move(name)), unfinished_(fmt::format(".{}.{}", name_, ::getpid())) {}

  // Returns 0, or errno. In a directory of another user, the hidden name may be any file: it is never opened.
  int write(std::string_view text) const {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    ::unlinkat(directory_, unfinished_.c_str(), 0);  // left by a killed process
    const Descriptor file(::openat(directory_, unfinished_.c_str(), kFlags, kMode));
    if (!file) return errno;
    int error = 0;
    while (!text.empty() && error == 0) {
      const ssize_t written = ::write(file.number(), text.data(), text.size());
      if (written >= 0) text.remove_prefix(static_cast<std::size_t>(written));
      if (written < 0 && errno != EINTR) error = errno;
    }
    const bool is_renamed = error == 0 && ::renameat(directory_, unfinished_.c_str(), directory_, name_.c_str()) == 0;
    if (is_renamed) return 0;
    if (error == 0) error = errno;
    ::unlinkat(directory_, unfinished_.c_str(), 0);
    return error;
  }

  void remove() const { ::unlinkat(directory_, name_.c_str(), 0); }

  // Writes each text that arrives, and answers with the outcome. Removes the file when the sender has ended.
  void serve(int line) const {
    std::string text(kLongestText, '\0');
    for (;;) {
      const ssize_t got = ::recv(line, text.data(), text.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      const int outcome = write(std::string_view(text).substr(0, static_cast<std::size_t>(got)));
      if (::send(line, &outcome, sizeof(outcome), MSG_NOSIGNAL) < 0) break;
    }
    remove();
  }

 private:
  const int directory_;
  const std::string name_;
  const std::string unfinished_;  // name of a file that is not complete
};

}  // namespace

Result<std::unique_ptr<MetricsFile>> MetricsFile::at(const std::string& path, Log log, const Confine& confine) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty()) return Error{.code = Code::kIo, .detail = "not the name of a file"};
  const Descriptor directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_error(errno);
  const Writer writer(directory, std::move(name));
  if (const int error = writer.write({}); error != 0) return system_error(error);
  HelperProcess process(kName, {directory.number()}, [&](int line) {
    confine(folder);
    writer.serve(line);
  });
  if (process.is_there()) return std::unique_ptr<MetricsFile>(new MetricsFile(std::move(process), std::move(log)));
  writer.remove();
  return Error{.code = Code::kIo, .detail = "cannot create a process"};
}

void MetricsFile::start(std::function<std::string()> text) {
  thread_ = start_thread([this, text = std::move(text)] { run(text); });
}

void MetricsFile::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_over_, true)) return;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
  writer_.end();
}

void MetricsFile::run(const std::function<std::string()>& text) {
  bool has_failed = false;
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    const auto written = write(text());
    // Once, and again after it has worked.
    if (!written && !has_failed) log_(Severity::kWarning, "cannot write metrics: " + written.error().detail);
    has_failed = !written;
    lock.lock();
  } while (!over_.wait_for(lock, kBetween, [this] { return is_over_; }));
}

Result<void> MetricsFile::write(std::string_view text) const {
  const int line = writer_.line().number();
  int outcome = EPIPE;
  ssize_t got = ::send(line, text.data(), text.size(), MSG_NOSIGNAL);
  if (got < 0) return system_error(errno);
  do {
    got = ::recv(line, &outcome, sizeof(outcome), 0);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return system_error(EPIPE);
  if (outcome != 0) return system_error(outcome);
  return {};
}

}  // namespace recordfs
