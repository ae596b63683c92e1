// The keys and values of a database as it returns them itself, for the file NAME.expect.json beside the sample.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

struct ExpectedFamily {
  unsigned id = 0;
  std::string name;
  std::vector<std::pair<std::string, std::string>> keys;
};

inline std::string hex(const std::string& bytes) {
  std::string text;
  char digits[3];
  for (const unsigned char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

// Values longer than this are stated by their size and their beginning.
inline constexpr std::size_t kWholeValue = 64;

inline void write_expectation(const std::string& path, const std::string& producer,
                              const std::vector<ExpectedFamily>& families) {
  std::ofstream out(path);
  out << "{\"producer\": \"" << producer << "\",\n \"families\": [";
  for (std::size_t f = 0; f < families.size(); ++f) {
    out << (f == 0 ? "" : ",\n  ") << "{\"id\": " << families[f].id << ", \"name\": \"" << families[f].name
        << "\", \"keys\": [";
    for (std::size_t i = 0; i < families[f].keys.size(); ++i) {
      const auto& [key, value] = families[f].keys[i];
      out << (i == 0 ? "\n   " : ",\n   ") << "[\"" << hex(key) << "\", " << value.size() << ", \""
          << hex(value.substr(0, kWholeValue)) << "\"]";
    }
    out << "]}";
  }
  out << "]}\n";
}
