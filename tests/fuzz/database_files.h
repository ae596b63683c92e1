// The form of an input of the target `database`: a list of files, each a byte for its name, 3 for its size, its bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs::fuzz {

inline constexpr unsigned kFileNumbers = 32;  // of each kind

enum class FileKind : std::uint8_t { kCurrent, kManifest, kLdb, kSst, kLog, kBlob };
inline constexpr std::size_t kFileKinds = 6;

struct InputFile {
  std::uint8_t name = 0;  // the kind in the upper bits, the number in the lower ones
  Bytes bytes{};

  FileKind kind() const { return static_cast<FileKind>(name / kFileNumbers % kFileKinds); }
  unsigned number() const { return name % kFileNumbers; }
  // Returns "000007.ldb".
  std::string file_name() const;
};

// Returns the name byte of a file.
inline std::uint8_t name_byte(FileKind kind, unsigned number) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) * kFileNumbers + number % kFileNumbers);
}

// Splits an input into at most kMostInputFiles files. The last one may be shorter than its size says.
inline constexpr std::size_t kMostInputFiles = 24;
std::vector<InputFile> split_input(Bytes input);

// Appends a file to an input.
void append_file(std::string& input, std::uint8_t name, std::string_view bytes);

}  // namespace recordfs::fuzz
