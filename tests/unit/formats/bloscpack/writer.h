// Makes Bloscpack files for tests, valid or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash/digest.h"

namespace recordfs::bloscpack {

// Returns a Blosc chunk that stores `text` uncompressed.
std::string plain_chunk(std::string_view text);
// Returns a chunk made by the library; `block_size` 0 lets the library choose.
std::string blosc_chunk(std::string_view text, const char* codec, std::size_t block_size = 0, std::size_t typesize = 1);

struct FileShape {
  int version = 3;
  bool is_variable = false;
  bool has_offsets = true;
  std::optional<DigestId> digest = DigestId::kAdler32;
  std::int32_t chunk_size = -1;
  std::int32_t last_chunk = -1;
  std::optional<std::int64_t> count{};    // nullopt: the actual number
  std::int64_t spare = 0;                 // unused offsets (version 3)
  std::optional<std::string> metadata{};  // JSON, uncompressed
  std::vector<std::string> chunks{};      // Blosc chunks by ordinal
  std::vector<std::size_t> order{};       // of the chunks in the file; empty: by ordinal
  std::size_t gap = 0;                    // bytes after each chunk
};

struct MadeFile {
  std::string bytes;
  std::size_t offsets = 0;            // their position
  std::vector<std::uint64_t> begins;  // of the chunks, by ordinal
};

MadeFile make_file(const FileShape& shape);

void put(std::string& bytes, std::size_t at, std::size_t width, std::uint64_t value);

// Returns `size` bytes that differ from those of adjacent ordinals.
std::string record(std::size_t ordinal, std::size_t size);
std::vector<std::string> plain_records(std::size_t count, std::size_t size);

}  // namespace recordfs::bloscpack
