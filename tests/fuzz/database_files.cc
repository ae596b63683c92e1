#include "tests/fuzz/database_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/cursor.h"

namespace recordfs::fuzz {
namespace {

constexpr int kBitsOfByte = 8;

}  // namespace

std::string InputFile::file_name() const {
  constexpr std::array<const char*, kFileKinds> kNames = {"CURRENT",   "MANIFEST-{:06}", "{:06}.ldb",
                                                          "{:06}.sst", "{:06}.log",      "{:06}.blob"};
  return fmt::format(fmt::runtime(kNames[static_cast<std::size_t>(kind())]), number());
}

std::vector<InputFile> split_input(Bytes input) {
  std::vector<InputFile> files;
  Cursor cursor(input);
  while (files.size() < kMostInputFiles && !cursor.at_end()) {
    InputFile file{.name = cursor.u8()};
    std::uint64_t size = cursor.u16_le();
    size |= std::uint64_t{cursor.u8()} << (2 * kBitsOfByte);
    file.bytes = cursor.take(std::min<std::uint64_t>(size, cursor.remaining()));
    files.push_back(file);
  }
  return files;
}

void append_file(std::string& input, std::uint8_t name, std::string_view bytes) {
  input += static_cast<char>(name);
  for (int i = 0; i < 3; ++i) input += static_cast<char>(bytes.size() >> (i * kBitsOfByte) & 0xFF);
  input += bytes;
}

}  // namespace recordfs::fuzz
