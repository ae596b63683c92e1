// Concurrent visitors of a mount: threads of several processes.
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
    unsigned threads = 4;  // per process
  };

  // Forks the processes, which start at rest. Throws std::runtime_error on failure. REQUIRES: one thread; `knowledge`
  // outlives the object.
  Crowd(const Knowledge& knowledge, const std::string& mount, Size size, unsigned seed);
  // Ends the processes.
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Makes them visit every path once, and rest. Returns when they are done; false if one of the processes has ended.
  bool visit_everything();
  void work();
  // Makes them rest; returns as visit_everything() does.
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
