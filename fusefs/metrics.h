// The metrics of a mount, in a file that Prometheus' node_exporter reads (-o metrics=FILE).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/helper_process.h"
#include "core/base/result.h"
#include "core/store/log.h"
#include "core/store/shared_resources.h"
#include "fusefs/glue/operations.h"

namespace recordfs {

// The files that a mount shows, without those of mirrored directories: containers, or the shards of a data set.
struct SourceCounts {
  std::uint64_t all = 0;
  std::uint64_t scanned = 0;  // whose records are counted
  std::uint64_t missing = 0;
};

// Returns all metrics in Prometheus' text format, version 0.0.4. `mount` is a label of each, because a collector joins
// the files of several mounts. Thread-safe.
std::string metrics_text(std::string_view mount, const StoreResources& services, const RequestStatistics& requests,
                         const SourceCounts& sources, std::chrono::seconds uptime);

// Writes a text to a file every few seconds, on a thread of its own. A reader sees a complete text, because each is
// written to a hidden file beside it, which then gets the name. A child process writes and removes the file, also when
// this process is killed: this one parses untrusted files, and must not be able to write to a directory of others. The
// functions are called on one thread.
class MetricsFile {
 public:
  static constexpr std::chrono::seconds kBetween{5};

  // Called in the child before it writes: drops all privileges except writing in the directory.
  using Confine = std::function<void(const std::string& directory)>;

  // Finds the directory, checks that a file can be made there, and forks. Fails with kIo. `log` must outlive the
  // object. REQUIRES: one thread.
  static Result<std::unique_ptr<MetricsFile>> at(const std::string& path, Log log, const Confine& confine);
  ~MetricsFile() { stop(); }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Starts the thread, which calls `text` until stop(). Writes nothing if the system provides no thread.
  void start(std::function<std::string()> text);
  // Joins the thread, and removes the file: a scraper must not take it for a running mount.
  void stop();

 private:
  MetricsFile(HelperProcess writer, Log log) : writer_(std::move(writer)), log_(std::move(log)) {}

  void run(const std::function<std::string()>& text);
  Result<void> write(std::string_view text) const;

  HelperProcess writer_;
  const Log log_;
  std::mutex mutex_;  // guards the next
  bool is_over_ = false;
  std::condition_variable over_;
  std::thread thread_;
};

}  // namespace recordfs
