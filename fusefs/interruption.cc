#include "fusefs/interruption.h"

#include <atomic>

#include "core/remote/interruption.h"

namespace recordfs {
namespace {

constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM};

std::atomic<int> came_number{0};
std::atomic<bool> has_come{false};
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal");

extern "C" void recordfs_remember_signal(int number) {
  came_number = number;
  has_come = true;
}

}  // namespace

Interruption::Interruption() {
  came_number = 0;
  has_come = false;
  // Otherwise a command would wait for a server until its time is over.
  remote::Interruption::end_all_waits_with(&has_come);
  struct sigaction remember {};
  remember.sa_handler = recordfs_remember_signal;
  remember.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &remember, nullptr);
  }
}

Interruption::~Interruption() {
  remote::Interruption::end_all_waits_with(nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interruption::came() { return came_number != 0; }

void Interruption::pass_on() {
  const int number = came_number;
  if (number == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace recordfs
