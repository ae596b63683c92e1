// Many who visit a mount at once: threads of several processes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/soak/known.h"
#include "tests/soak/visit.h"

namespace recordfs::soak {

class Crowd {
 public:
  struct Size {
    unsigned processes = 2;
    unsigned threads = 4;  // of each
  };

  // Forks; they rest. REQUIRES: one thread, and that `knowledge` stays. Throws std::runtime_error where that fails.
  Crowd(const Knowledge& knowledge, const std::string& mount, Size size, unsigned seed);
  // Ends them.
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Has them visit every path once, and rest. Returns when they do; false: one of the processes has ended.
  bool visit_everything();
  void work();
  // As visit_everything().
  bool rest();

  Tally tally() const;

 private:
  enum class Phase : unsigned { kRest, kEverything, kWork, kEnd };
  struct Shared;

  [[noreturn]] void be_a_process(const Knowledge& knowledge, const std::string& mount, unsigned process, unsigned seed);
  void be_a_thread(Visit& visit, unsigned number);
  void turn_to(Phase phase);
  bool all_rest() const;

  const Size size_;
  Shared* shared_;
  std::vector<pid_t> processes_;
};

}  // namespace recordfs::soak
