#include "fusefs/glue/ending_signals.h"

#include <chrono>
#include <system_error>

namespace recordfs {
namespace {

constexpr int kWake = SIGUSR1;
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

}  // namespace

EndingSignals::EndingSignals() {
  sigemptyset(&awaited_);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    if (!is_ignored(number)) sigaddset(&awaited_, number);
  }
  answer_with(SIGPIPE, SIG_IGN);
  answer_with(kWake, [](int) {});
  pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
}

EndingSignals::~EndingSignals() {
  stop();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool EndingSignals::watch(fuse_session* session) {
  // The watcher awaits the wake-up too: by it stop() ends it.
  sigset_t wake;
  sigset_t before;
  sigemptyset(&wake);
  sigaddset(&wake, kWake);
  pthread_sigmask(SIG_BLOCK, &wake, &before);
  try {
    watcher_ = std::thread([this, session, loop = pthread_self()] { run(session, loop); });
  } catch (const std::system_error&) {
    // The one way in which std::thread says that the system is short of threads: watcher_ stays empty.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watcher_.joinable();
}

void EndingSignals::stop() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  pthread_kill(watcher_.native_handle(), kWake);
  watcher_.join();
}

void EndingSignals::run(fuse_session* session, pthread_t loop) {
  sigset_t awaited = awaited_;
  sigaddset(&awaited, kWake);
  std::unique_lock lock(mutex_);
  for (int number = kWake; number == kWake;) {  // which anybody may send
    lock.unlock();
    sigwait(&awaited, &number);
    lock.lock();
    if (stopped_) return;
  }
  fuse_session_exit(session);
  // libfuse's loop looks whether it is to end and then waits: what comes in between wakes nobody.
  do {
    pthread_kill(loop, kWake);
  } while (!changed_.wait_for(lock, kWakeAgain, [this] { return stopped_; }));
}

}  // namespace recordfs
