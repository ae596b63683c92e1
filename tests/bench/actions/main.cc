// actions VERB ARGUMENT...: does what programs do with mounted files and prints the time as JSON.
//
//   first FILE COMMAND...          runs COMMAND, which forks to the background; from its start until FILE is read
//   open DIR RECORDS N SEED        open, read and close N random records of DIR/000000000 and following
//   walk DIR RECORDS N             the same for the first N, in order
//   stat DIR RECORDS N SEED        lstat of N random ones
//   pread FILE N SIZE SEED         N random reads of SIZE bytes
//   seq FILE SIZE                  reads FILE to its end, SIZE bytes at a time
//   names DIR, list DIR            readdir to the end; list also stats each name
//
// Exit status: 0 done (the JSON counts errors), 1 usage error, or the command or file failed.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/actions/files.h"
#include "tests/bench/actions/timing.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kReadSize = 1 << 20;

using Words = std::span<char*>;

std::uint64_t number(const char* word) {
  const std::string_view text = word;
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int say(const Tally& tally) {
  std::fputs(tally.json().c_str(), stdout);
  return 0;
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

std::string record_name(std::uint64_t ordinal) { return fmt::format("{:09}", ordinal); }

// Returns `count` distinct names of ordinals below `records`, in random order.
std::vector<std::string> random_names(std::uint64_t records, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> ordinals(records);
  std::iota(ordinals.begin(), ordinals.end(), 0u);
  std::mt19937_64 random(seed);
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < std::min(count, records); ++i) {
    std::swap(ordinals[i], ordinals[i + random() % (records - i)]);
    names.push_back(record_name(ordinals[i]));
  }
  return names;
}

std::vector<std::string> first_names(std::uint64_t records, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < std::min(count, records); ++i) names.push_back(record_name(i));
  return names;
}

template <class Action>
int each(const char* path, const std::vector<std::string>& names, Action action) {
  const Descriptor directory(path, O_DIRECTORY);
  if (directory.get() < 0) return fail(path);
  Tally tally;
  tally.reserve(names.size());
  for (const std::string& name : names) tally.time([&] { return action(directory.get(), name.c_str()); });
  return say(tally);
}

int read_each(const char* path, const std::vector<std::string>& names) {
  std::vector<char> buffer(kReadSize);
  return each(path, names, [&](int directory, const char* name) { return read_file(directory, name, buffer); });
}

int first(Words words) {
  std::vector<char*> command(words.begin() + 1, words.end());
  command.push_back(nullptr);
  char* const* const arguments = command.data();
  std::vector<char> buffer(kReadSize);
  Tally tally;
  tally.time([&]() -> std::int64_t {
    // vfork, because the time should have no copy of this process in it. The child does nothing but execute.
    const pid_t child = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (child == 0) {
      ::execvp(arguments[0], arguments);
      ::_exit(127);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return -1;
    return read_file(words[0], buffer);
  });
  return say(tally);
}

int open(Words words) {
  return read_each(words[0], random_names(number(words[1]), number(words[2]), number(words[3])));
}

int walk(Words words) { return read_each(words[0], first_names(number(words[1]), number(words[2]))); }

int stat(Words words) {
  return each(words[0], random_names(number(words[1]), number(words[2]), number(words[3])), stat_file);
}

int pread(Words words) {
  const Descriptor file(words[0]);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return fail(words[0]);
  std::vector<char> buffer(number(words[2]));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < buffer.size()) return 1;
  std::mt19937_64 random(number(words[3]));
  Tally tally;
  for (std::uint64_t i = 0; i < number(words[1]); ++i) {
    const std::uint64_t offset = random() % (size - buffer.size() + 1);
    tally.time([&] { return read_at(file.get(), offset, buffer); });
  }
  return say(tally);
}

int seq(Words words) {
  std::vector<char> buffer(number(words[1]));
  Tally tally;
  tally.time([&] { return read_file(words[0], buffer); });
  return say(tally);
}

int listing(Words words, bool status) {
  std::int64_t names = 0;
  Tally tally;
  tally.time([&] { return (names = list_directory(words[0], status)) < 0 ? -1 : 0; });
  std::fprintf(stderr, "%lld names\n", static_cast<long long>(names));
  return say(tally);
}

struct Verb {
  std::string_view name;
  std::size_t least_words;
  int (*run)(Words words);
};

constexpr Verb kVerbs[] = {
    {"first", 2, first},
    {"open", 4, open},
    {"walk", 3, walk},
    {"stat", 4, stat},
    {"pread", 4, pread},
    {"seq", 2, seq},
    {"names", 1, [](Words words) { return listing(words, false); }},
    {"list", 1, [](Words words) { return listing(words, true); }},
};

}  // namespace

int run(Words words) {
  for (const Verb& verb : kVerbs) {
    if (words.size() > verb.least_words && words[0] == verb.name) return verb.run(words.subspan(1));
  }
  std::fputs("actions: first, open, walk, stat, pread, seq, names or list; see the source's first lines\n", stderr);
  return 1;
}

}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run({argv + 1, argv + argc}); }
