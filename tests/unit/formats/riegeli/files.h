// Small files that tests damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/formats/riegeli/walk.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::riegeli {

// Returns different texts, each of at least `size` bytes.
inline std::vector<std::string> texts(std::size_t count, std::size_t size = 20) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back("record " + std::to_string(i) + std::string(size + i % 7, static_cast<char>('a' + i % 26)));
  }
  return records;
}

inline Walk walk_file(const std::string& file, const Limits& limits = {}) {
  const auto container = open_bytes(file, limits);
  return container ? walk(*container, file.size()) : Walk{};
}

// Returns chunks of ten records each, at least `size` bytes in total.
inline std::string many_chunks(std::uint64_t size) {
  riegeli_writer::Writer writer;
  while (writer.size() < size) writer.add(riegeli_writer::simple_chunk(texts(10, 90)));
  return writer.file();
}

inline void flip(std::string& file, std::uint64_t at) { file[at] = static_cast<char>(file[at] ^ 0x10); }

}  // namespace recordfs::riegeli
