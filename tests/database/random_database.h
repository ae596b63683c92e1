// What the programs that write random databases share: random choices, and the command line.
//
//   PROGRAM write SEED DIRECTORY     writes a database, and to DIRECTORY.snapshot what a snapshot of it shows, if any
//   PROGRAM endless SEED DIRECTORY   writes until it is killed; prints a line once the database is open
//   PROGRAM dump SEED DIRECTORY      opens the database that `write` or `endless` wrote with this seed, recovers it,
//   and
//                                    prints what it contains: lines FAMILY:KEY:VALUE, in hexadecimal
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace random_database {

// Random choices that depend on the seed only. Not thread-safe.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(seed) {}

  // Returns a number below `end`.
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + below(last - first + 1); }
  // Returns true once in `n` times.
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  // Returns a key of a small set, so that most keys are written repeatedly.
  std::string key() {
    const std::uint64_t number = below(key_count_);
    if (number % 97 == 13) return std::string("\0\x01\xff\\ \n", 6) + std::to_string(number);
    if (number % 89 == 7) return std::string("kk").substr(below(3));  // also the empty key
    std::string digits = std::to_string(number);
    return (number % 3 == 0 ? "user/" : "a-longer-prefix-of-keys/") + std::string(6 - digits.size(), '0') + digits;
  }
  void set_key_count(std::uint64_t count) { key_count_ = count; }

  // Returns a value. Some repeat, so that they compress; some are random; some are long.
  std::string value() {
    const std::uint64_t size = once_in(20) ? below(20000) : once_in(3) ? below(600) : below(60);
    std::string bytes(size, 'v');
    const bool is_text = !once_in(3);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = is_text ? "the same words again and again "[(i + size) % 31] : static_cast<char>(below(256));
    }
    return bytes;
  }

 private:
  std::mt19937_64 engine_;
  std::uint64_t key_count_ = 1000;
};

inline std::string hex(const std::string& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

inline void print_row(std::FILE* out, const std::string& family, const std::string& key, const std::string& value) {
  std::fprintf(out, "%s:%s:%s\n", hex(family).c_str(), hex(key).c_str(), hex(value).c_str());
}

template <class Status>
void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Runs the program: `Database` is constructed from a seed and a directory, and has write(), endless() and dump().
template <class Database>
int run(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string what = argv[1];
  Database database(std::strtoull(argv[2], nullptr, 10), argv[3]);
  if (what == "write") {
    database.write();
  } else if (what == "endless") {
    database.endless();
  } else if (what == "dump") {
    database.dump();
  } else {
    return 2;
  }
  return 0;
}

}  // namespace random_database
