// CommandStatus: the messages of a command's run, and its exit status.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/impact.h"
#include "core/base/result.h"
#include "core/formats/chunk_info.h"
#include "fusefs/commands/output.h"
#include "fusefs/exit_status.h"

namespace recordfs {

// Thread-safe, except the functions that choose what counts.
class CommandStatus {
 public:
  // Adds an error to the exit status. The worst counts.
  void note(const Error& error);
  void note(int status);
  void note(Impact impact) { note(exit_status_of(impact)); }
  // Adds a damaged region to it. The stale end of a recycled log is not damage.
  void note(const DamagedRegion& region);
  int status() const { return status_; }
  // Counts records that are skipped, as LossCount::add() does.
  void add_loss(std::optional<std::uint64_t> count, std::uint64_t at_least = 0);
  LossCount losses() const;
  void set_losses(const LossCount& losses);

  // Prints no message about files that cannot be opened; they count in status().
  void hide_unopened() { hides_unopened_ = true; }
  // Makes status() kExitTryAgain after failures that may pass, for schedulers.
  void distinguish_retries() { distinguishes_retries_ = true; }
  // Lists what is skipped, as lines of skipped_line(). Damage that is listed does not count in status(). `list` may be
  // null.
  void list_skipped_in(std::unique_ptr<Output> list) { skipped_ = std::move(list); }
  // Returns that list; null if there is none.
  Output* skipped() { return skipped_.get(); }

  // Prints why a file cannot be opened, and notes it.
  void print_unopened(const std::string& path, const Error& error);
  // Prints an error, unless the log has just printed the same line, and notes it.
  void print_failure(const std::string& path, const Error& error);
  // Prints a line, unless it equals the previous one, and notes the status.
  void fail(int status, const std::string& text);
  void fail(Impact impact, const std::string& text) { fail(exit_status_of(impact), text); }
  // Prints a line, unless it equals the previous one. For logs.
  void print_once(const std::string& line);

 private:
  std::atomic<int> status_{0};
  bool distinguishes_retries_ = false;
  bool hides_unopened_ = false;
  std::unique_ptr<Output> skipped_;  // null: there is no list
  mutable std::mutex mutex_;
  std::string last_line_;  // guarded by mutex_
  LossCount losses_;       // guarded by mutex_
};

}  // namespace recordfs
