#include "tests/soak/visit.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <variant>

#include <fmt/format.h>

#include "tests/soak/answers.h"
#include "tests/soak/questions.h"

namespace recordfs::soak {
namespace {

constexpr std::uint64_t kMostSaid = 20;
constexpr int kPathsOfAVisit = 40;
constexpr std::uint64_t kQuestionsOfAPath = 4;

struct Question {
  void (*ask)(Visit&);
  unsigned weight;
};

constexpr std::array kQuestions = {
    Question{ask_status, 20},    Question{ask_content, 30},    Question{ask_target, 5}, Question{ask_listing, 10},
    Question{ask_attributes, 6}, Question{ask_file_system, 4}, Question{ask_access, 5}, Question{ask_for_nothing, 8},
    Question{ask_wrongly, 6},    Question{ask_for_change, 6}};

void ask_something(Visit& visit) {
  unsigned sum = 0;
  for (const Question& question : kQuestions) sum += question.weight;
  std::uint64_t chosen = visit.below(sum);
  for (const Question& question : kQuestions) {
    if (chosen < question.weight) return question.ask(visit);
    chosen -= question.weight;
  }
}

// Symbolic links in a container point into .views, which is also reachable directly.
std::string some_way_to(Visit& visit, std::size_t number) {
  std::string path = visit.knowledge.path(number);
  const std::size_t at = path.find("/.views/");
  if (at != std::string::npos && visit.below(2) == 0) path.erase(at + 1, 7);
  return visit.root + "/" + path;
}

bool go_to(Visit& visit, std::size_t number) {
  visit.number = number;
  visit.known = &visit.knowledge.paths[number];
  const std::string way = some_way_to(visit, visit.known->parent);
  visit.directory = Descriptor(::open(way.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  visit.check(static_cast<bool>(visit.directory), "open", fmt::format("errno {} for {}", errno, way));
  return static_cast<bool>(visit.directory);
}

}  // namespace

void Visit::check(bool is_right, const char* question, const std::string& got) {
  ++tally.answers;
  if (is_right) return;
  ++tally.wrong;
  if (++said > kMostSaid) return;
  std::fputs(fmt::format("wrong: {} of {}: {}\n", question, knowledge.path(number), got).c_str(), stderr);
}

void Visit::check_error(int want, int got, const char* question) {
  check(want == got, question, fmt::format("errno {} in place of {}", got, want));
}

void visit_somewhere(Visit& visit) {
  const auto& places = visit.knowledge.places;
  const auto& place = places[visit.below(places.size())];
  for (int i = 0; i < kPathsOfAVisit; ++i) {
    if (!go_to(visit, place[visit.below(place.size())])) continue;
    for (std::uint64_t k = 1 + visit.below(kQuestionsOfAPath); k > 0; --k) ask_something(visit);
  }
  visit.directory = Descriptor();
}

void visit_everything(Visit& visit, std::size_t first, std::size_t step) {
  for (std::size_t number = 1 + first; number < visit.knowledge.paths.size(); number += step) {
    if (!go_to(visit, number)) continue;
    ask_status(visit);
    ask_whole_listing(visit);
  }
  visit.directory = Descriptor();
}

}  // namespace recordfs::soak
