#include "fusefs/commands/input_lines.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <utility>

#include "core/dataset/source_spec.h"

namespace recordfs {

Result<void> input_outcome(const std::istream& input) {
  // std::cin does not report failures of the C library's stream, which it reads.
  const bool has_failed = input.bad() || !input.eof() || (&input == &std::cin && std::ferror(stdin) != 0);
  if (!has_failed) return {};
  return errno != 0 ? system_error(errno) : Error{.code = Code::kIo, .detail = "cannot be read"};
}

Result<std::vector<std::string>> read_lines(const std::string& path, char end) {
  std::ifstream file;
  if (path != kStandardInput) file.open(path, std::ios::binary);
  if (!file) return system_error(errno);
  std::istream& input = path == kStandardInput ? std::cin : file;
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line, end);) lines.push_back(std::move(line));
  TRY(input_outcome(input));
  return lines;
}

}  // namespace recordfs
