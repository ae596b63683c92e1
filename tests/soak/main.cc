// soak_requests LEARN VISIT NAMES SEED PROCESSES THREADS LEARNT: reads everything that the mount LEARN shows, then has
// a crowd send the same requests to the mount VISIT, which may be mounted later.
//
// Writes one line for each completely read file to LEARNT: path, size, CRC-32 of the bytes. Reads commands from
// standard input, and replies to each with one line:
//
//   visit        the crowd opens VISIT and requests every path once
//   work         it sends random requests, until
//   rest         it stops
//
// The first reply is "learnt PATHS BYTES", all others are "ANSWERS WRONG": the numbers of compared and of wrong answers
// so far. The first wrong answers go to stderr. Exit status: 0 success, 1 usage error, or a process of the crowd has
// ended.
#include <sys/stat.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/hash/crc32.h"
#include "tests/soak/crowd.h"
#include "tests/soak/learning.h"

namespace recordfs::soak {
namespace {

void write_down(const Knowledge& knowledge, const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  for (std::size_t number = 0; number < knowledge.paths.size(); ++number) {
    const Known& known = knowledge.paths[number];
    const std::string_view bytes = knowledge.content(known);
    if (known.error != 0 || (known.status.mode & S_IFMT) != S_IFREG || bytes.size() != known.status.size) continue;
    if (!known.content.failed.empty()) continue;
    out << fmt::format("{}\t{}\t{}\n", knowledge.path(number), bytes.size(), crc32(as_bytes(bytes)));
  }
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

int run(char** words) {
  const Knowledge knowledge = learn(words[0], std::stoul(words[2]), static_cast<unsigned>(std::stoul(words[3])));
  write_down(knowledge, words[6]);
  say(fmt::format("learnt {} {}", knowledge.paths.size(), knowledge.bytes.size()));
  std::optional<Crowd> crowd;
  const Crowd::Size size{static_cast<unsigned>(std::stoul(words[4])), static_cast<unsigned>(std::stoul(words[5]))};
  for (std::string line; std::getline(std::cin, line);) {
    if (!crowd) crowd.emplace(knowledge, words[1], size, static_cast<unsigned>(std::stoul(words[3])));
    if (line == "visit" && !crowd->visit_everything()) return 1;
    if (line == "work") crowd->work();
    if (line == "rest" && !crowd->rest()) return 1;
    say(fmt::format("{} {}", crowd->tally().answers, crowd->tally().wrong));
  }
  return 0;
}

}  // namespace
}  // namespace recordfs::soak

int main(int argc, char** argv) {
  if (argc != 8) return 1;
  try {
    return recordfs::soak::run(argv + 1);
  } catch (const std::exception& failed) {
    std::fputs((std::string("soak_requests: ") + failed.what() + "\n").c_str(), stderr);
    return 1;
  }
}
