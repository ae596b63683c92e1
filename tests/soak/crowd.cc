#include "tests/soak/crowd.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace recordfs::soak {
namespace {

using namespace std::chrono_literals;

constexpr auto kCancellationPoll = 1ms;

}  // namespace

// In memory shared by all processes.
struct Crowd::Shared {
  std::atomic<Phase> phase{Phase::kRest};
  std::atomic<unsigned> turn{0};  // number of phase changes
  std::atomic<unsigned> resting{0};
  std::atomic<std::uint64_t> answers{0};
  std::atomic<std::uint64_t> wrong{0};
};

Crowd::Crowd(const Knowledge& knowledge, const std::string& mount, Size size, unsigned seed) : size_(size) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory");
  shared_ = new (memory) Shared;
  for (unsigned i = 0; i < size_.processes; ++i) {
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("no process");
    if (process == 0) be_a_process(knowledge, mount, i, seed);
    processes_.push_back(process);
  }
}

Crowd::~Crowd() {
  turn_to(Phase::kEnd);
  for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

void Crowd::be_a_process(const Knowledge& knowledge, const std::string& mount, unsigned process, unsigned seed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < size_.threads; ++i) {
      const unsigned number = process * size_.threads + i;
      threads.emplace_back([this, &knowledge, &mount, number, seed] {
        Visit visit(knowledge, mount, seed + number);
        be_a_thread(visit, number);
      });
    }
  }
  ::_exit(0);
}

void Crowd::be_a_thread(Visit& visit, unsigned number) {
  const auto count = [&] {
    shared_->answers += std::exchange(visit.tally.answers, 0);
    shared_->wrong += std::exchange(visit.tally.wrong, 0);
  };
  for (unsigned seen = 0;;) {
    while (shared_->turn == seen) std::this_thread::sleep_for(kCancellationPoll);
    seen = shared_->turn;
    const Phase phase = shared_->phase;
    if (phase == Phase::kEnd) return;
    if (phase == Phase::kEverything) soak::visit_everything(visit, number, size_.processes * size_.threads);
    while (phase == Phase::kWork && shared_->turn == seen) {
      visit_somewhere(visit);
      count();
    }
    count();
    if (phase != Phase::kWork) ++shared_->resting;
  }
}

void Crowd::turn_to(Phase phase) {
  shared_->resting = 0;
  shared_->phase = phase;
  ++shared_->turn;
}

bool Crowd::all_rest() const {
  while (shared_->resting < size_.processes * size_.threads) {
    if (::waitpid(-1, nullptr, WNOHANG) > 0) return false;
    std::this_thread::sleep_for(kCancellationPoll);
  }
  return true;
}

bool Crowd::visit_everything() {
  turn_to(Phase::kEverything);
  return all_rest();
}

void Crowd::work() { turn_to(Phase::kWork); }

bool Crowd::rest() {
  turn_to(Phase::kRest);
  return all_rest();
}

Tally Crowd::tally() const { return {.answers = shared_->answers, .wrong = shared_->wrong}; }

}  // namespace recordfs::soak
