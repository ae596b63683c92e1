#include "tests/contract/format_folder.h"

#include <cctype>

namespace recordfs::contract {

std::string folder_of(const Format& format) {
  std::string folder;
  for (const char c : format.name) {
    const auto letter = static_cast<unsigned char>(c);
    folder += std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : '_';
  }
  return folder;
}

}  // namespace recordfs::contract
