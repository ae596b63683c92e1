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
#include "core/dataset/reporter.h"
#include "core/formats/chunk_info.h"
#include "fusefs/commands/output.h"
#include "fusefs/exit_status.h"

namespace recordfs {

// Thread-safe, except the functions that choose what counts.
class CommandStatus : public Reporter {
 public:
  // Add to the exit status. The worst counts.
  void note(int status);
  void note(Impact impact) override { note(exit_status_of(impact)); }
  void note(const Error& error) override;
  void note(const DamagedRegion& region) override;
  int status() const { return status_; }
  void add_loss(std::optional<std::uint64_t> count, std::uint64_t at_least = 0) override;
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

  // Print a line, unless it equals the previous one, and note it.
  void fail(int status, const std::string& text);
  void fail(Impact impact, const std::string& text) override { fail(exit_status_of(impact), text); }
  void report_unopened(const std::string& path, const Error& error) override;
  void report_failure(const std::string& path, const Error& error) override;
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
