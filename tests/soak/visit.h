// A visitor makes requests to a mount and compares the answers with the known ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "core/base/descriptor.h"
#include "tests/soak/known.h"

namespace recordfs::soak {

struct Tally {
  std::uint64_t answers = 0;  // compared answers
  std::uint64_t wrong = 0;
};

// The state that each kind of request needs. One thread.
struct Visit {
  Visit(const Knowledge& all, const std::string& mount, unsigned seed) : knowledge(all), root(mount), random(seed) {}

  const Knowledge& knowledge;
  const std::string root;
  std::mt19937 random;
  Tally tally{};  // not yet added to other counters
  std::uint64_t said = 0;
  // The current path, and its directory.
  const Known* known = nullptr;
  std::size_t number = 0;
  Descriptor directory{};

  // Returns a random number below `end`; 0 if `end` is 0.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : random() % end; }
  std::string path() const { return root + "/" + knowledge.path(number); }

  // Counts an answer. Prints the first wrong answers to stderr, with `got` describing the answer.
  void check(bool is_right, const char* question, const std::string& got);
  void check_error(int want, int got, const char* question);
};

// Makes some requests of every kind about random paths of one group.
void visit_somewhere(Visit& visit);
// Requests the status of every `step`th path of the mount from `first` on, and all entries of directories, once each.
void visit_everything(Visit& visit, std::size_t first, std::size_t step);

}  // namespace recordfs::soak
