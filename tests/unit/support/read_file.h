// Reads whole files, such as samples of the corpus.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace recordfs::testing {

// Returns the bytes of a file; none if it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();  // an iterator over characters is slow without optimization
  return std::move(text).str();
}

}  // namespace recordfs::testing
