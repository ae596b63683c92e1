#include "fusefs/commands/command_status.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "core/store/open_container.h"
#include "core/verify/verification.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// Returns whether a failure to read may pass. A changed file is another one.
bool may_pass(Code code) { return code == Code::kIo || code == Code::kOutOfMemory || code == Code::kInterrupted; }

// Returns whether opening a file may succeed later.
bool may_open_later(const Error& error) {
  constexpr std::array kLasting = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, EINVAL, ENXIO};
  return may_pass(error.code) && std::ranges::find(kLasting, error.os_error) == kLasting.end();
}

}  // namespace

void CommandStatus::add_loss(std::optional<std::uint64_t> count, std::uint64_t at_least) {
  const std::lock_guard lock(mutex_);
  losses_.add(count, at_least);
}

LossCount CommandStatus::losses() const {
  const std::lock_guard lock(mutex_);
  return losses_;
}

void CommandStatus::set_losses(const LossCount& losses) {
  const std::lock_guard lock(mutex_);
  losses_ = losses;
}

void CommandStatus::report_unopened(const std::string& path, const Error& error) {
  if (!hides_unopened_) print_message(open_failure(path, error));
  note(distinguishes_retries_ && may_open_later(error) ? kExitTryAgain : kExitCannotOpen);
}

void CommandStatus::note(const Error& error) {
  note(distinguishes_retries_ && may_pass(error.code) && !is_denied(error) ? kExitTryAgain
                                                                           : exit_status_of(impact_of(error)));
}

void CommandStatus::note(int status) {
  int known = status_;
  while (!status_.compare_exchange_weak(known, worse_of(known, status))) {
  }
}

void CommandStatus::note(const DamagedRegion& region) {
  const Impact impact = finding_of(region).impact;
  note(skipped_ && impact == Impact::kDamage ? Impact::kNone : impact);
}

void CommandStatus::report_failure(const std::string& path, const Error& error) {
  // Errors of a whole file or set have no position.
  const bool is_of_all = error.code == Code::kUnsupported || error.code == Code::kLimit;
  print_once(is_of_all && error.position == 0 ? fmt::format("{}: {}", path, error.detail) : open_failure(path, error));
  note(error);
}

void CommandStatus::fail(int status, const std::string& text) {
  print_once(text);
  note(status);
}

void CommandStatus::print_once(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (line == last_line_) return;
  last_line_ = line;
  print_message(line);
}

}  // namespace recordfs
