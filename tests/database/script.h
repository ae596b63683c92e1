// What the programs that drive an engine share: they execute a script of lines from the standard input.
//
//   PROGRAM FOLDER < SCRIPT     FOLDER/db is the database; "$FOLDER" in a value of an option is replaced
//   PROGRAM --version           prints the engine's name and version
//
// A line is an operation and its words. Byte strings are hexadecimal and begin with "x". README.md lists the
// operations. Exit status: 0, or 1 after a failed operation, which is printed with its line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace drive {

using Words = std::vector<std::string>;

inline std::string hex(const std::string& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Returns the bytes of a word such as "x6b6579".
inline std::string bytes_of(const std::string& word) {
  std::string bytes;
  for (std::size_t at = 1; at + 1 < word.size(); at += 2)
    bytes += static_cast<char>(std::stoi(word.substr(at, 2), nullptr, 16));
  return bytes;
}

inline Words split(const std::string& text, char separator) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Prints FAMILY:KEY:VALUE, and then :NAME=VALUE for each column of an entity, all in hexadecimal.
inline void print_row(std::FILE* out, const std::string& family, const std::string& key, const std::string& value,
                      const std::string& columns = "") {
  std::fprintf(out, "%s:%s:%s%s\n", hex(family).c_str(), hex(key).c_str(), hex(value).c_str(), columns.c_str());
}

inline std::string& current_line() {
  static std::string line;
  return line;
}

template <class Status>
void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%.200s: %s\n", current_line().c_str(), status.ToString().c_str());
  std::exit(1);
}

// A script. Hands out its lines; after the line "loop", the lines that follow repeat indefinitely.
class Script {
 public:
  explicit Script(std::istream& in) {
    for (std::string line; std::getline(in, line);) {
      if (line == "loop") {
        repeats_from_ = lines_.size();
      } else if (!line.empty()) {
        lines_.push_back(std::move(line));
      }
    }
  }

  // Sets `words` to those of the next line. Returns whether there is one.
  bool next(Words& words) {
    if (at_ == lines_.size() && repeats_from_ < lines_.size()) at_ = repeats_from_;
    if (at_ == lines_.size()) return false;
    current_line() = lines_[at_++];
    words = split(current_line(), ' ');
    return true;
  }

 private:
  std::vector<std::string> lines_;
  std::size_t at_ = 0, repeats_from_ = SIZE_MAX;
};

// Runs a script: `Engine` is constructed from a folder and has do(words, script), which returns false if it does not
// know the operation.
template <class Engine>
int run(int argc, char** argv, const std::string& version) {
  if (argc == 2 && std::string(argv[1]) == "--version") return std::puts(version.c_str()) < 0;
  if (argc != 2) return 2;
  std::ios::sync_with_stdio(false);
  Script script(std::cin);
  Engine engine(argv[1]);
  for (Words words; script.next(words);) {
    if (words[0] == "kill") _exit(0);
    if (words[0] == "say") {
      std::puts(words[1].c_str());
      std::fflush(stdout);
    } else if (!engine.execute(words, script)) {
      std::fprintf(stderr, "%.200s: unknown operation\n", current_line().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace drive
