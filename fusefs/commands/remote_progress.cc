#include "fusefs/commands/remote_progress.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/base/thread.h"
#include "core/remote/session.h"
#include "fusefs/commands/progress.h"
#include "fusefs/progress_line.h"

namespace recordfs {
namespace {

constexpr std::chrono::milliseconds kFirstPaint{1000};
constexpr std::chrono::milliseconds kRepainted{250};

}  // namespace

RemoteProgress::~RemoteProgress() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  ProgressLine::erase();
}

void RemoteProgress::start(std::string command) {
  if (thread_.joinable() || !ProgressLine::is_possible()) return;
  command_ = std::move(command);
  begin_ = std::chrono::steady_clock::now();
  thread_ = start_thread([this] { run(); });
}

void RemoteProgress::run() {
  std::unique_lock lock(mutex_);
  auto pause = kFirstPaint;
  while (!changed_.wait_for(lock, std::exchange(pause, kRepainted), [this] { return is_stopping_; })) {
    lock.unlock();
    paint();
    lock.lock();
  }
}

void RemoteProgress::paint() const {
  if (!remote::Session::is_used() || Progress::repaint_shown() || ProgressLine::has_output()) return;
  const remote::Traffic traffic = remote::Session::of_process().traffic();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(traffic.bytes) / seconds);
  ProgressLine::paint(fmt::format("{}: {}, {}/s, {}", command_, short_size(traffic.bytes), short_size(rate),
                                  counted(traffic.requests, "request")));
}

}  // namespace recordfs
