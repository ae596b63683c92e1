#include "fusefs/glue/signals.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "core/base/thread.h"

namespace recordfs {
namespace {

constexpr int kWake = SIGUSR2;
constexpr std::chrono::milliseconds kWakeAgain(20);

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void answer_with(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return set;
}

timespec timespec_of(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec result{};
  result.tv_sec = static_cast<std::time_t>(seconds.count());
  result.tv_nsec = static_cast<long>(std::chrono::nanoseconds(time - seconds).count());
  return result;
}

}  // namespace

void hold_usr1() {
  const sigset_t usr1 = only(SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
}

Signals::Signals() {
  sigemptyset(&awaited_);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    if (!is_ignored(number)) sigaddset(&awaited_, number);
  }
  sigaddset(&awaited_, SIGUSR1);
  answer_with(SIGPIPE, SIG_IGN);
  answer_with(kWake, [](int) {});
  pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
  // The caller may have inherited it blocked, and then the loop would not wake.
  const sigset_t wake = only(kWake);
  pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
}

Signals::~Signals() {
  stop();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Signals::watch(fuse_session* session, Watched watched) {
  watched_ = std::move(watched);
  // The signal thread also waits for kWake, which stop() sends.
  const sigset_t wake = only(kWake);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wake, &before);
  watcher_ = start_thread([this, session, loop = pthread_self()] { run(session, loop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watcher_.joinable();
}

void Signals::stop() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  pthread_kill(watcher_.native_handle(), kWake);
  watcher_.join();
}

// Returns the next signal, or kWake after a tick. Signals do not delay ticks, so they cannot postpone the end of an
// unused mount.
int Signals::next(const sigset_t& awaited) {
  if (watched_.tick.count() == 0) {
    const int number = ::sigwaitinfo(&awaited, nullptr);
    return number < 0 ? kWake : number;
  }
  using Clock = std::chrono::steady_clock;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick_ - Clock::now());
  const timespec wait = timespec_of(std::max(left, std::chrono::milliseconds(0)));
  const int number = ::sigtimedwait(&awaited, nullptr, &wait);
  if (number >= 0) return number;
  if (errno != EAGAIN) return kWake;
  watched_.ticked();
  next_tick_ = Clock::now() + watched_.tick;
  return kWake;
}

void Signals::run(fuse_session* session, pthread_t loop) {
  sigset_t awaited = awaited_;
  sigaddset(&awaited, kWake);
  std::unique_lock lock(mutex_);
  next_tick_ = std::chrono::steady_clock::now() + watched_.tick;
  int number = kWake;
  while (number == kWake || number == SIGUSR1 || (number == SIGHUP && watched_.hup)) {  // any process may send these
    lock.unlock();
    number = next(awaited);
    if (number == SIGUSR1) watched_.usr1();
    if (number == SIGHUP && watched_.hup) watched_.hup();
    lock.lock();
    if (stopped_) return;
  }
  ended_by_ = number;
  watched_.ending();
  fuse_session_exit(session);
  // libfuse's loop checks its exit flag and then blocks. A signal between the two is lost, so repeat it.
  do {
    pthread_kill(loop, kWake);
  } while (!changed_.wait_for(lock, kWakeAgain, [this] { return stopped_; }));
}

}  // namespace recordfs
