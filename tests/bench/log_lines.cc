#include "tests/bench/log_lines.h"

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace recordfs::bench {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"INFO", "INFO", "WARNING", "ERROR"};
constexpr std::array<std::string_view, 16> kWords = {"request",  "took",   "from",  "cache",   "shard", "replica",
                                                     "retry",    "queue",  "bytes", "session", "key",   "user",
                                                     "finished", "status", "path",  "index"};
constexpr std::uint64_t kShortest = 200;
constexpr std::uint64_t kLongest = 1000;

// SplitMix64: good enough that the text does not repeat, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::string log_line(std::uint64_t number) {
  Random random(number);
  const std::uint64_t size = kShortest + random.next() % (kLongest - kShortest + 1);
  std::string line =
      fmt::format("{:012} {} worker-{} ", number, kLevels[random.next() % kLevels.size()], random.next() % 64);
  while (line.size() < size) {
    const std::uint64_t draw = random.next();
    line += kWords[draw % kWords.size()];
    fmt::format_to(std::back_inserter(line), "={:x} ", draw >> 44);
  }
  line.resize(size);
  return line;
}

}  // namespace recordfs::bench
