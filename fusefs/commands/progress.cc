#include "fusefs/commands/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/base/storage.h"
#include "core/remote/session.h"
#include "fusefs/progress_line.h"

namespace recordfs {
namespace {

constexpr std::chrono::milliseconds kBetween{200};

std::mutex shown_mutex;         // held while the object is used by a thread that does not own it
Progress* shown_now = nullptr;  // guarded by shown_mutex

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string_view command, Unit unit)
    : command_(command), unit_(unit), is_shown_(ProgressLine::is_possible()) {
  const std::lock_guard lock(shown_mutex);
  if (is_shown_) shown_now = this;
}

Progress::~Progress() {
  {
    const std::lock_guard lock(shown_mutex);
    if (shown_now == this) shown_now = nullptr;
  }
  clear();
}

bool Progress::repaint_shown() {
  const std::lock_guard lock(shown_mutex);
  if (shown_now != nullptr) shown_now->add(0);
  return shown_now != nullptr;
}

std::string Progress::amount(std::uint64_t units) const {
  return unit_ == Unit::kBytes ? short_size(units) : counted(units, "record");
}

std::string Progress::line(Clock::time_point now) const {
  const std::uint64_t done = done_;
  const std::uint64_t total = total_;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = fmt::format("{}: {}", command_, amount(done));
  if (total > 0) {
    text += fmt::format(" of {} ({:.0f} %)", amount(total),
                        100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total));
  }
  text += unit_ == Unit::kBytes ? fmt::format(", {}/s", short_size(static_cast<std::uint64_t>(rate)))
                                : fmt::format(", {:.0f}/s", rate);
  if (total > done && rate > 0) {
    text += fmt::format(", {} left", time_text(static_cast<double>(total - done) / rate));
  }
  if (remote::Session::is_used()) {
    text += fmt::format(", {}", counted(remote::Session::of_process().traffic().requests, "request"));
  }
  return text;
}

void Progress::add(std::uint64_t more) {
  done_ += more;
  if (!is_shown_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const auto now = Clock::now();
  if (!lock || (painted_ != Clock::time_point{} && now - painted_ < kBetween)) return;
  painted_ = now;
  ProgressLine::paint(line(now));
}

void Progress::clear() const {
  if (is_shown_) ProgressLine::erase();
}

void Progress::finish() const {
  if (is_shown_ && !ProgressLine::has_output()) ProgressLine::paint(line(Clock::now()));
  clear();
}

std::uint64_t size_of(const std::string& path) {
  const auto file = status_of({}, path);
  return file ? file->size : 0;
}

}  // namespace recordfs
