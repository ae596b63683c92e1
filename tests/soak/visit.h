// A visitor asks a mount for what is known of it, and compares.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "core/base/descriptor.h"
#include "tests/soak/known.h"

namespace recordfs::soak {

struct Tally {
  std::uint64_t answers = 0;  // that were compared
  std::uint64_t wrong = 0;
};

// What each kind of question needs to be asked. One thread.
struct Visit {
  Visit(const Knowledge& all, const std::string& mount, unsigned seed) : knowledge(all), root(mount), random(seed) {}

  const Knowledge& knowledge;
  const std::string root;
  std::mt19937 random;
  Tally tally{};  // of what is not yet counted elsewhere
  std::uint64_t said = 0;
  // What is asked about: a path, and the directory that it is in.
  const Known* known = nullptr;
  std::size_t number = 0;
  Descriptor directory{};

  // A number below `end`; 0 where that is 0.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : random() % end; }
  std::string path() const { return root + "/" + knowledge.path(number); }

  // Counts an answer. What is wrong is said on stderr: `got` in place of what was known.
  void check(bool is_right, const char* question, const std::string& got);
  void check_error(int want, int got, const char* question);
};

// Asks some questions of every kind about paths of one place, chosen at random.
void visit_somewhere(Visit& visit);
// Asks every `step`th path of the mount, from `first` on, for its status once, and directories for all that they hold.
void visit_everything(Visit& visit, std::size_t first, std::size_t step);

}  // namespace recordfs::soak
