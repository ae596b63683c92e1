#include "fusefs/metrics.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/source.h"
#include "core/base/thread.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

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

void add_caches(MetricsText& text, const Services& services) {
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

std::string metrics_text(std::string_view mount, const Services& services, const RequestStatistics& requests,
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

MetricsFile::MetricsFile(Descriptor directory, std::string name, Log log)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      unfinished_(fmt::format(".{}.{}", name_, ::getpid())),
      log_(std::move(log)) {}

Result<std::unique_ptr<MetricsFile>> MetricsFile::at(const std::string& path, Log log) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty()) return Error{.code = Code::kIo, .detail = "not the name of a file"};
  Descriptor directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_error(errno);
  std::unique_ptr<MetricsFile> made(new MetricsFile(std::move(directory), std::move(name), std::move(log)));
  TRY(made->write({}));
  return made;
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
  ::unlinkat(directory_.number(), name_.c_str(), 0);
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
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor file(::openat(directory_.number(), unfinished_.c_str(), kFlags, kMode));
  if (!file) return system_error(errno);
  const auto failed = [this](int number) {
    ::unlinkat(directory_.number(), unfinished_.c_str(), 0);
    return system_error(number);
  };
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::renameat(directory_.number(), unfinished_.c_str(), directory_.number(), name_.c_str()) != 0) {
    return failed(errno);
  }
  return {};
}

}  // namespace recordfs
