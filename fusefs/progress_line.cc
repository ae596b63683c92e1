#include "fusefs/progress_line.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "fusefs/terminal.h"

namespace recordfs {
namespace {

constexpr std::string_view kEraseLine = "\r\033[K";

std::mutex mutex;                     // held while the terminal is written
std::atomic<bool> is_painted{false};  // changed with the mutex held
std::atomic<bool> output_seen{false};

void put(const std::string& text) {
  // Errors do not matter here.
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  std::fflush(stderr);
}

}  // namespace

bool ProgressLine::is_possible() { return ::isatty(STDERR_FILENO) != 0 && can_erase_line(); }

void ProgressLine::paint(const std::string& text) {
  const std::lock_guard lock(mutex);
  is_painted = true;
  // A line that wraps could not be erased.
  const std::size_t columns = columns_of(STDERR_FILENO);
  put(std::string(kEraseLine) + text.substr(0, columns == 0 ? std::string::npos : columns - 1));
}

void ProgressLine::erase() {
  if (!is_painted) return;
  const std::lock_guard lock(mutex);
  if (is_painted.exchange(false)) put(std::string(kEraseLine));
}

void ProgressLine::make_way_for_output() {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  if (!is_terminal) return;
  output_seen = true;
  erase();
}

bool ProgressLine::has_output() { return output_seen; }

}  // namespace recordfs
